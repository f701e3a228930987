import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { lastingProcess, notedProcess } from '../../../src/system/lasting-process.ts'
import { readText } from '../../../src/system/watch-text.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryHome } from '../../support/processes.ts'

function place(program = process.execPath) {
  const root = temporaryHome()
  const spec = {
    program,
    args: ['-e', 'console.log("here"); setInterval(() => {}, 1000)'],
    env: process.env,
    note_file: path.join(root, 'note'),
    output_file: path.join(root, 'output'),
  }
  return { spec, process: lastingProcess(spec) }
}

test('a lasting process is started once, found by the next owner, and ended by any', async () => {
  const { spec, process: first } = place()
  expect(first.alive()).toBe(false)
  expect(first.ensure()).toBe('started')
  const next = lastingProcess(spec)
  expect(next.ensure()).toBe('lives')
  await eventually('it speaks', () => fs.readFileSync(spec.output_file, 'utf8') === 'here\n')
  next.stop()
  await eventually('it is gone', () => !first.alive())
  expect(first.ensure()).toBe('started')
  first.stop()
  await eventually('it is gone', () => !first.alive())
})

test('a note of a process that is gone, or that says nothing, starts a new one', async () => {
  const { spec, process: owner } = place()
  for (const note of ['{"pid":1,"started":"another boot"}', 'half a no', '']) {
    fs.writeFileSync(spec.note_file, note)
    expect(owner.ensure()).toBe('started')
    owner.stop()
    await eventually('it is gone', () => !owner.alive())
  }
})

test('one that is noted is found and ended by whoever does not know how it is started', async () => {
  const { spec, process: owner } = place()
  const noted = notedProcess(spec.note_file)
  noted.stop()
  expect(noted.alive()).toBe(false)
  owner.ensure()
  expect(noted.alive()).toBe(true)
  noted.stop()
  await eventually('it is gone', () => !owner.alive())
})

test('a program that is not there is told', () => {
  expect(() => place('/no/such/program').process.ensure()).toThrow('/no/such/program could not be started')
})

test('one that cannot be noted is ended, because nobody would find it', async () => {
  const { spec } = place()
  // A directory stands where the note belongs.
  fs.mkdirSync(path.join(spec.note_file, 'inside'), { recursive: true })
  const marked = [...spec.args, spec.note_file]
  expect(() => lastingProcess({ ...spec, args: marked }).ensure()).toThrow('EISDIR')
  await eventually('none runs', () => !commandLines().some((line) => line.includes(spec.note_file)))
})

function commandLines(): string[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => readText(`/proc/${pid}/cmdline`) ?? '')
}
