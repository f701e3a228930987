/** Plants every bug of the list, one at a time, and searches for a seed that detects it. */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { commandOptions } from '../../support/command/command-options.mjs'
import { itemsOf, partIn } from '../../support/command/commit-part.mjs'
import { createEnding } from '../../support/command/ending.mjs'
import { bundleSimulation } from '../bundle.mjs'
import { MUTANTS } from './list.mjs'
import { failedTest } from './test-judge.mjs'

const HELP = `usage: npm run mutants -- [NAME…] [options]

  --seeds N   seeds for each bug, after the recorded runs and the seed of the list (200)
  --steps N   steps of each run (500)
  --part I/N  one part of the list, such as 2/5 for every fifth bug from the second on

A bug with a test file is checked by that test file instead of the simulation.
At the end every run, seed and test file that detected a bug is tried without one and has to keep every promise.
Prints a line for each bug, and the counts, also after Ctrl-C. Exit 1 if a bug was not detected, a recorded run
(regressions.ts) no longer detects its bug, or a promise is broken without any; 2 for invalid arguments, 3 if the command
itself failed.
`

const { values, positionals } = commandOptions(HELP, {
  names: MUTANTS.map(({ name }) => name),
  options: {
    seeds: { type: 'string', default: '200' },
    steps: { type: 'string', default: '500' },
    part: { type: 'string' },
  },
  numbers: { seeds: 1, steps: 1 },
  check({ part }) {
    if (part !== undefined) partIn(part)
  },
})
const named = MUTANTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const chosen = values.part === undefined ? named : itemsOf(named, partIn(values.part))
const ending = createEnding()
/** Promises that almost any programming error breaks; breaking one does not prove that a rule detects the bug. */
const ENDS = ['nothing breaks', 'every run ends']
const counts = { tried: 0, unnoticed: 0, stale: 0 }
/** Result of the search without a planted bug. */
let without = 'not tried'
ending.onInterrupt(sayCounts)

const needed = new Set()
const tests = new Set()
for (const mutant of chosen) {
  const found = await findBreaking(mutant)
  counts.tried += 1
  if (mutant.test !== undefined) tests.add(mutant.test)
  if (found === null) counts.unnoticed += 1
  // A recorded failing run is tried in any case.
  else if (found.known === false) needed.add(found.seed)
  console.log(found === null ? `UNNOTICED  ${mutant.name}` : `caught     ${mutant.name}: ${told(found)}`)
}
// Seeds that break a promise without a planted bug would appear to detect every bug.
let broken = await askWith(undefined, (search) => search.findBroken(needed, values.steps))
for (const test of tests) broken ??= await failedIn(test)
without = broken === null ? 'no promise broken' : told(broken)
sayCounts()
process.exitCode = counts.unnoticed + counts.stale === 0 && broken === null ? 0 : 1

/** Returns the first broken promise with this bug planted, or null. */
async function findBreaking(mutant) {
  if (mutant.test !== undefined) return failedIn(mutant.test, mutant)
  return askWith(mutant, async (search) => {
    for (const { seed, only } of await search.findStale(mutant.name)) {
      counts.stale += 1
      console.log(`STALE      ${mutant.name}: seed ${seed} with ${only} no longer finds it`)
    }
    const all = Array.from({ length: values.seeds }, (_, before) => before + 1)
    const seeds = mutant.seed === undefined ? all : [mutant.seed, ...all]
    return search.findBroken(
      seeds,
      values.steps,
      ({ promise }) => mutant.ends === true || !ENDS.includes(promise),
    )
  })
}

/** Returns the result of `ask` for the product with this bug planted. */
async function askWith(mutant, ask) {
  const out = await bundleSimulation(ending, mutant)
  const { openSearch } = await import(pathToFileURL(path.join(out, 'search.js')).href)
  const opened = openSearch(path.join(out, 'worker.js'))
  try {
    return await ask(opened)
  } finally {
    await opened.close()
    fs.rmSync(out, { recursive: true, force: true })
  }
}

async function failedIn(test, mutant) {
  const name = await ending.unlessInterrupted(failedTest(test, mutant))
  return name === null ? null : { test, name }
}

function told({ seed, broken, test, name }) {
  if (test !== undefined) return `${test}: ${name}`
  return `seed ${seed}, step ${broken.step}: ${broken.promise}`
}

function sayCounts() {
  const { tried, unnoticed, stale } = counts
  console.log(
    `mutants ${tried}, caught ${tried - unnoticed}, unnoticed ${unnoticed}, stale runs ${stale}; with no bug planted: ${without}`,
  )
}
