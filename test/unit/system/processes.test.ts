import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { processStartTime, startedBy } from '../../../src/system/processes.ts'

test('who started a process is found behind the shells between', async () => {
  // What follows keeps a shell from becoming the program that it starts.
  const shells = spawn('sh', ['-c', `sh -c 'echo $$; read -r end; true'; true`])
  const [inner] = (await once(createInterface(shells.stdout), 'line')) as [string]
  const here = { pid: process.pid, started: processStartTime(process.pid) }
  expect(startedBy(Number(inner))).toEqual(here)
  expect(startedBy(process.pid)).toEqual(here)
  shells.stdin.end('\n')
  await once(shells, 'exit')
})

test('of a process that is gone nobody is told', async () => {
  const child = spawn('true')
  await once(child, 'exit')
  expect(startedBy(child.pid)).toBeNull()
})
