import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  ancestorNamed,
  isGone,
  isStopped,
  processStartTime,
  startTimeByPs,
} from '../../../../src/system/process/process-info.ts'
import { eventually } from '../../../support/eventually.ts'

const NAMESPACE = fs.readlinkSync('/proc/self/ns/pid')
const here = { pid: process.pid, started: processStartTime(process.pid), namespace: NAMESPACE }
const OWN_NAME = new RegExp(`^${fs.readFileSync(`/proc/${process.pid}/comm`, 'utf8').trim()}$`)

test('an ancestor is found by its name, also through other processes', async () => {
  // The trailing command keeps the shell from replacing itself by the program.
  const shells = spawn('sh', ['-c', `sh -c 'echo $$; read -r end; true'; true`])
  const [inner] = (await once(createInterface(shells.stdout), 'line')) as [string]
  expect(ancestorNamed(OWN_NAME, Number(inner))).toEqual(here)
  expect(ancestorNamed(/^no such program$/, Number(inner))).toBeNull()
  shells.stdin.end('\n')
  await once(shells, 'exit')
  expect(ancestorNamed(OWN_NAME, Number(inner))).toBeNull()
})

test('a process has ended when it exited or its pid was reused; one in another namespace never counts as ended', async () => {
  const child = spawn('cat')
  const pid = child.pid as number
  const started = processStartTime(pid) as string
  const known = { pid, started, namespace: NAMESPACE }
  expect(isGone(known)).toBe(false)
  expect(isGone({ ...known, started: 'another boot' })).toBe(true)
  child.stdin.end()
  await once(child, 'exit')
  expect(isGone(known)).toBe(true)
  expect(isGone({ ...known, namespace: 'elsewhere' })).toBe(false)
})

test('without /proc, ps reports when a process started, in the same words to every caller', async () => {
  const child = spawn('cat')
  const pid = child.pid as number
  const started = startTimeByPs(pid)
  vi.stubEnv('TZ', 'Asia/Kolkata')
  vi.stubEnv('LC_ALL', 'de_DE.UTF-8')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(startTimeByPs(pid)).toBe(started)
  expect(Math.abs(Date.parse(`${started} UTC`) - Date.now())).toBeLessThan(60_000)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(startTimeByPs(pid)).toBeNull()
})

test('a suspended process is distinguished from a running and a missing one', async () => {
  const child = spawn('cat')
  const pid = child.pid as number
  expect(isStopped(pid)).toBe(false)
  child.kill('SIGSTOP')
  await eventually('it stands still', () => isStopped(pid))
  child.kill('SIGCONT')
  await eventually('it goes on', () => !isStopped(pid))
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isStopped(pid)).toBe(false)
})
