import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { detachedProcess, identifiedProcess } from '../../../../src/system/process/detached-process.ts'
import { readText } from '../../../../src/system/files/watch-file.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'

function place(program = process.execPath) {
  const root = temporaryHome()
  const spec = {
    program,
    args: ['-e', 'console.log("here"); setInterval(() => {}, 1000)'],
    env: process.env,
    note_file: path.join(root, 'note'),
    output_file: path.join(root, 'output'),
  }
  return { spec, process: detachedProcess(spec) }
}

test('a detached process is started once, found by the next owner, and ended by any', async () => {
  const { spec, process: first } = place()
  expect(first.alive()).toBe(false)
  expect(first.ensure()).toBe('started')
  const next = detachedProcess(spec)
  expect(next.ensure()).toBe('lives')
  await eventually('it speaks', () => fs.readFileSync(spec.output_file, 'utf8') === 'here\n')
  next.stop()
  await eventually('it is gone', () => !first.alive())
  expect(first.ensure()).toBe('started')
  first.stop()
  await eventually('it is gone', () => !first.alive())
})

test('a file with an ended process, or without one, starts a new one', async () => {
  const { spec, process: owner } = place()
  for (const note of ['{"pid":1,"started":"another boot"}', 'half a no', '']) {
    fs.writeFileSync(spec.note_file, note)
    expect(owner.ensure()).toBe('started')
    owner.stop()
    await eventually('it is gone', () => !owner.alive())
  }
})

test('an identified process is found and ended without its start command', async () => {
  const { spec, process: owner } = place()
  const noted = identifiedProcess(spec.note_file)
  noted.stop()
  expect(noted.alive()).toBe(false)
  owner.ensure()
  expect(noted.alive()).toBe(true)
  noted.stop()
  await eventually('it is gone', () => !owner.alive())
})

test('a missing program is reported', () => {
  expect(() => place('/no/such/program').process.ensure()).toThrow('/no/such/program could not be started')
})

test('a process that cannot be recorded is killed, because it could not be found again', async () => {
  const { spec } = place()
  // A directory is in the place of the file.
  fs.mkdirSync(path.join(spec.note_file, 'inside'), { recursive: true })
  const marked = [...spec.args, spec.note_file]
  expect(() => detachedProcess({ ...spec, args: marked }).ensure()).toThrow('EISDIR')
  await eventually('none runs', () => !commandLines().some((line) => line.includes(spec.note_file)))
})

function commandLines(): string[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => readText(`/proc/${pid}/cmdline`) ?? '')
}
