import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { lockIn } from '../../support/brief-lock-taker.ts'
import { bundle } from '../../support/bundle.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const TAKERS = 6
const LOCKS = 1_000

// proper-lockfile by itself lets the slower of two that found a lock stale remove the one that the faster
// has just made.
test('a lock whose holder has died is taken by one process after the other', async () => {
  const directory = temporaryDirectory()
  const taker = await bundle('test/support/brief-lock-taker.ts', temporaryDirectory())
  const died_at = new Date(Date.now() - 60_000)
  for (let turn = 0; turn < LOCKS; turn += 1) {
    const lock = lockIn(directory, turn)
    fs.mkdirSync(lock)
    fs.utimesSync(lock, died_at, died_at)
  }
  const takers = await Promise.all(
    Array.from({ length: TAKERS }, async () => {
      const child = spawn(process.execPath, [taker, directory, String(LOCKS)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const closed = once(child, 'close')
      await once(child.stdout, 'data')
      let said = ''
      child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
      return { child, closed, said: () => said }
    }),
  )
  for (const { child } of takers) child.stdin.write('go\n')
  const codes = await Promise.all(takers.map(async ({ closed }) => closed))
  expect(takers.map(({ said }) => said())).toEqual(Array(TAKERS).fill(''))
  expect(codes).toEqual(Array(TAKERS).fill([0, null]))
  expect(fs.readdirSync(directory)).toEqual([])
})
