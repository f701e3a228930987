/** Reads the output of `npm run -s bench > OUT.jsonl`. */
import fs from 'node:fs'
import { commandOptions } from '../../test/support/command/command-options.mjs'

/**
 * Returns the operands of a command, at most `most`, of which the first is such a file; ends the process without one.
 */
export function figuresFile(help, most = 1) {
  const operands = commandOptions(help, { names: true }).positionals
  const [source] = operands
  if (source === undefined || operands.length > most) refuse(help)
  if (!fs.statSync(source, { throwIfNoEntry: false })?.isFile()) refuse(`there is no file ${source}\n`)
  return operands
}

/**
 * Returns the figures by name, in the order of measurement. Other lines and skipped benchmarks are ignored. Ends the
 * process if no figure is left, and at a truncated one.
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

/** Checks all fields that the table and the plots use; `ratio` and others are null in a skipped one. */
function isFigure({ name, value, unit, limit, ratio, goal, method }) {
  const texts = [name, unit, method].every((text) => typeof text === 'string')
  const numbers = [value, limit, ratio].every((of) => of === null || typeof of === 'number')
  return texts && numbers && (goal === null || GOAL.test(goal))
}

/** `11: >= 0.4` */
const GOAL = /^\S+: [<>]= [\d.]+$/

/** Ends the process after printing the reason. */
export function refuse(text) {
  process.stderr.write(text)
  process.exit(2)
}
