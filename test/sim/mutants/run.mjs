/**
 * Plants every bug of the list, one at a time, and looks for a seed that notices.
 */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { commandOptions } from '../../support/command-options.mjs'
import { bundleSimulation } from '../bundle.mjs'
import { MUTANTS } from './list.mjs'

const HELP = `usage: node test/sim/mutants/run.mjs [NAME…] [options]

  --seeds N   how many are tried for each bug, after the runs that once failed (200)
  --steps N   steps of each (500)

Prints a line for each bug. Exit 1 when one went unnoticed.
`

const { values, positionals } = commandOptions(HELP, {
  names: true,
  options: { seeds: { type: 'string', default: '200' }, steps: { type: 'string', default: '500' } },
  numbers: { seeds: 1, steps: 1 },
})
const unknown = positionals.find((name) => !MUTANTS.some((mutant) => mutant.name === name))
if (unknown !== undefined) {
  process.stderr.write(
    `there is no planted bug ${JSON.stringify(unknown)}; there are\n${MUTANTS.map(({ name }) => `  ${name}\n`).join('')}`,
  )
  process.exit(2)
}
const chosen = MUTANTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
let unnoticed = 0
for (const mutant of chosen) {
  const out = await bundleSimulation(mutant)
  try {
    const { findBroken } = await import(pathToFileURL(path.join(out, 'main.js')).href)
    const found = await findBroken(path.join(out, 'worker.js'), values.seeds, values.steps)
    if (found === null) unnoticed += 1
    console.log(
      found === null
        ? `UNNOTICED  ${mutant.name}`
        : `caught     ${mutant.name}: seed ${found.seed}, step ${found.broken.step}: ${found.broken.promise}`,
    )
  } finally {
    fs.rmSync(out, { recursive: true, force: true })
  }
}
console.log(`mutants ${chosen.length}, caught ${chosen.length - unnoticed}, unnoticed ${unnoticed}`)
process.exitCode = unnoticed === 0 ? 0 : 1
