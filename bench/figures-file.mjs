/** What `npm run bench > OUT.jsonl` said, read again. */
import fs from 'node:fs'
import { commandOptions } from '../test/support/command-options.mjs'

/** The operands of a command that begin with such a file; ends the process where there is none. */
export function figuresFile(help) {
  const [source, ...more] = commandOptions(help, { names: true }).positionals
  if (source === undefined || !fs.statSync(source, { throwIfNoEntry: false })?.isFile()) {
    process.stderr.write(source === undefined ? help : `there is no file ${source}\n`)
    process.exit(2)
  }
  return [source, ...more]
}

/** By name, in the order in which they were measured. Lines that are no figure are passed over, and what was left out. */
export function readFigures(source) {
  const figures = new Map()
  for (const line of fs.readFileSync(source, 'utf8').split('\n')) {
    if (!line.startsWith('{')) continue
    const figure = JSON.parse(line)
    if (figure.ratio !== null) figures.set(figure.name, figure)
  }
  return figures
}

/**
 * How near the goal is: 1 is just met, below is better, whichever way round the ratio counts. The ratio is the measured one,
 * not the rounded one that is shown.
 */
export function shareOf({ value, limit }, { comparison, bound }) {
  const ratio = value / limit
  return comparison === '<=' ? ratio / bound : bound / ratio
}

/** `11: >= 0.4`, as a figure names its goal: null where it has none. */
export function boundOf({ goal }) {
  if (goal === null) return null
  const [, comparison, bound] = goal.split(' ')
  return { comparison, bound: Number(bound) }
}
