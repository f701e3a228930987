import fs from 'node:fs'
import { expect, test } from 'vitest'
import { lockIn } from '../../support/processes/short-lock-taker.ts'
import { bundle } from '../../support/command/bundle.ts'
import { readyChild } from '../../support/processes/ready-child.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const TAKERS = 6
const LOCKS = 1_000

// proper-lockfile alone lets the slower of two processes that found a lock stale remove the one that the faster has
// just made.
test('a lock whose holder has crashed is taken by one process after the other', async () => {
  const directory = temporaryDirectory()
  const taker = await bundle('test/support/processes/short-lock-taker.ts', temporaryDirectory())
  const died_at = new Date(Date.now() - 60_000)
  for (let turn = 0; turn < LOCKS; turn += 1) {
    const lock = lockIn(directory, turn)
    fs.mkdirSync(lock)
    fs.utimesSync(lock, died_at, died_at)
  }
  const takers = await Promise.all(
    Array.from({ length: TAKERS }, async () => {
      const { child, closed, go } = await readyChild(taker, directory, String(LOCKS))
      let said = ''
      child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
      return { closed, go, said: () => said }
    }),
  )
  for (const { go } of takers) go()
  const codes = await Promise.all(takers.map(async ({ closed }) => closed))
  expect(takers.map(({ said }) => said())).toEqual(Array(TAKERS).fill(''))
  expect(codes).toEqual(Array(TAKERS).fill([0, null]))
  expect(fs.readdirSync(directory)).toEqual([])
})
