/** What `npm run -s bench > OUT.jsonl` said, read again. */
import fs from 'node:fs'
import { commandOptions } from '../test/support/command-options.mjs'

/** The operands of a command, `most` of them, that begin with such a file; ends the process where there is none. */
export function figuresFile(help, most = 1) {
  const operands = commandOptions(help, { names: true }).positionals
  const [source] = operands
  if (source === undefined || operands.length > most) refuse(help)
  if (!fs.statSync(source, { throwIfNoEntry: false })?.isFile()) refuse(`there is no file ${source}\n`)
  return operands
}

/**
 * By name, in the order in which they were measured. What others wrote between the figures is passed over, and what was left
 * out; ends the process where there is nothing else, and at a figure that was broken off.
 */
export function readFigures(source) {
  const figures = new Map()
  for (const line of fs.readFileSync(source, 'utf8').split('\n')) {
    if (!line.startsWith('{')) continue
    const figure = figureIn(line)
    if (figure === null) refuse(`${source} has a line that is no figure: ${line.slice(0, 80)}\n`)
    if (figure.ratio !== null) figures.set(figure.name, figure)
  }
  if (figures.size === 0) refuse(`${source} has no figures\n`)
  return figures
}

function figureIn(line) {
  try {
    const figure = JSON.parse(line)
    return isFigure(figure) ? figure : null
  } catch {
    return null
  }
}

/** With all that the table and the plots show of it; `ratio` and the rest are null in one that was left out. */
function isFigure({ name, value, unit, limit, ratio, goal, method }) {
  const texts = [name, unit, method].every((text) => typeof text === 'string')
  const numbers = [value, limit, ratio].every((of) => of === null || typeof of === 'number')
  return texts && numbers && (goal === null || GOAL.test(goal))
}

/** `11: >= 0.4` */
const GOAL = /^\S+: [<>]= [\d.]+$/

/** Ends the process, which has said why. */
export function refuse(text) {
  process.stderr.write(text)
  process.exit(2)
}
