/**
 * `npm run prove`: runs the whole proof in parts and records each passed one: all seeds, all planted bugs, all crash
 * points, fuzzing and the soak.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { commandOptions } from '../test/support/command/command-options.mjs'
import { createEnding } from '../test/support/command/ending.mjs'
import { TARGET_NAMES } from '../test/fuzz/targets/names.mjs'
import { timeTable } from './time-table.mjs'

const HELP = `usage: npm run prove -- [simulation] [planted-bugs] [crash-points] [fuzzing] [soak] [options]

  --seeds N    seeds of the simulation (200)
  --inputs N   inputs of the fuzzer (1000000)
  --minutes N  length of the soak's day (30)
  --again      runs also what has passed before for this code

Runs the named parts, or all. A part that passed is noted in .prove/ with a digest of the code and its options, and is not
run again for the same code, so a run that was killed continues. Prints a table at the end, after Ctrl-C too. Exit code 1
if a part failed, 2 for invalid options.
`
const STEPS = 2000
/** A killed part starts over, so long ones are divided. */
const PARTS = { 'planted-bugs': 10, 'crash-points': 6, fuzzing: 6 }

const root = path.resolve(import.meta.dirname, '..')
const notes_directory = path.join(root, '.prove')
const { values, positionals } = commandOptions(HELP, {
  names: ['simulation', 'planted-bugs', 'crash-points', 'fuzzing', 'soak'],
  options: {
    seeds: { type: 'string', default: '200' },
    inputs: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '30' },
    again: { type: 'boolean', default: false },
  },
  numbers: { seeds: 1, inputs: 1, minutes: { above: 0, most: 1440 } },
})

const parts = [
  part('simulation', 'sim', ['--seeds', values.seeds, '--steps', STEPS, '--keep', keptSeeds()]),
  ...divided('planted-bugs', (number, of) => part('planted-bugs', 'mutants', ['--part', `${number}/${of}`])),
  ...divided('crash-points', (number, of) =>
    part('crash-points', 'crash-points', ['--part', `${number}/${of}`]),
  ),
  ...divided('fuzzing', (number, of) => {
    const targets = TARGET_NAMES.filter((_, index) => index % of === number - 1)
    const inputs = Math.ceil((values.inputs * targets.length) / TARGET_NAMES.length)
    return part('fuzzing', 'fuzz', [...targets, '--inputs', inputs])
  }),
  part('soak', 'soak', ['--minutes', values.minutes]),
].filter(({ kind }) => positionals.length === 0 || positionals.includes(kind))

fs.mkdirSync(notes_directory, { recursive: true })
const notes_file = path.join(notes_directory, 'passed.json')
const code = codeDigest()
const notes = readNotes()
const rows = []
const ending = createEnding()
ending.onInterrupt(printTable)

for (const [index, { name, script, args }] of parts.entries()) {
  const key = `${script} ${args.join(' ')}`
  const before = values.again ? undefined : notes[key]
  if (before !== undefined) {
    rows.push({ name, seconds: 0, note: `passed on ${before}` })
    continue
  }
  console.log(`\n== ${name} (${index + 1} of ${parts.length}): npm run ${script} -- ${args.join(' ')}`)
  const started = performance.now()
  const { exit_code, last_line } = await ending.unlessInterrupted(run(script, args))
  const seconds = (performance.now() - started) / 1000
  if (exit_code === 0) note(key)
  rows.push({
    name,
    seconds,
    failed: exit_code !== 0,
    note: exit_code === 0 ? last_line : `exit code ${exit_code}`,
  })
}
printTable()
process.exitCode = rows.some(({ failed }) => failed) ? 1 : 0

function part(kind, script, args) {
  return { kind, name: kind, script, args: args.map(String) }
}

function divided(kind, make) {
  const of = PARTS[kind]
  return Array.from({ length: of }, (_, index) => ({
    ...make(index + 1, of),
    name: `${kind} ${index + 1}/${of}`,
  }))
}

function keptSeeds() {
  return path.join('.prove', `simulation-${STEPS}-steps.jsonl`)
}

/** Runs an npm script and copies its output. Ctrl-C reaches the script by itself. */
async function run(script, args) {
  const child = spawn('npm', ['run', '-s', script, '--', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let last_line = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    last_line = text.trimEnd().split('\n').at(-1) || last_line
  })
  ending.onInterrupt(() => {
    if (child.exitCode !== null) return undefined
    child.kill('SIGTERM')
    return once(child, 'close')
  })
  const [exit_code] = await once(child, 'close')
  return { exit_code, last_line }
}

/** Digest of everything that the proof runs: the sources, the proof itself, the packages, and node. */
function codeDigest() {
  const hash = createHash('sha256').update(process.version)
  for (const name of [
    'package.json',
    'package-lock.json',
    'build.mjs',
    'scripts',
    'src',
    'adapters',
    'test',
  ]) {
    for (const file of filesIn(path.join(root, name)))
      hash.update(`\n${path.relative(root, file)}\n`).update(fs.readFileSync(file))
  }
  return hash.digest('hex').slice(0, 16)
}

function filesIn(place) {
  if (fs.statSync(place).isFile()) return [place]
  return fs
    .readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted()
}

/** Returns the time of each pass for this code, by script and options. */
function readNotes() {
  if (!fs.existsSync(notes_file)) return {}
  const { code: noted, passed } = JSON.parse(fs.readFileSync(notes_file, 'utf8'))
  return noted === code ? passed : {}
}

function note(key) {
  notes[key] = new Date().toISOString()
  fs.writeFileSync(`${notes_file}.new`, JSON.stringify({ code, passed: notes }, null, 2))
  fs.renameSync(`${notes_file}.new`, notes_file)
}

function printTable() {
  const failed = rows.filter((row) => row.failed).length
  console.log(`\n${timeTable(rows)}`)
  if (rows.length < parts.length) console.log(`${parts.length - rows.length} parts not run`)
  console.log(`code ${code}: ${rows.length - failed} passed, ${failed} failed`)
}
