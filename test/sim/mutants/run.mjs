/**
 * Plants every bug of the list, one at a time, and looks for a seed that notices: `node test/sim/mutants/run.mjs
 * [--seeds N] [--steps N] [NAME…]`. Prints a line for each; exit 1 when one went unnoticed.
 */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { bundleSimulation } from '../bundle.mjs'
import { MUTANTS } from './list.mjs'

const { values, positionals } = parseArgs({
  options: { seeds: { type: 'string', default: '200' }, steps: { type: 'string', default: '500' } },
  allowPositionals: true,
})
const chosen = MUTANTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
let unnoticed = 0
for (const mutant of chosen) {
  const out = await bundleSimulation(mutant)
  try {
    const { findBroken } = await import(pathToFileURL(path.join(out, 'main.js')).href)
    const found = await findBroken(path.join(out, 'worker.js'), Number(values.seeds), Number(values.steps))
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
