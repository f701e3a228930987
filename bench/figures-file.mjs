/** What `npm run -s bench > OUT.jsonl` said, read again. */
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
