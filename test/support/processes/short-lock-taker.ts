// One of several processes that compete for the same brief locks. Arguments: DIRECTORY COUNT. Prints `ready`, starts at
// the first input, takes one lock after another, and prints any error.
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { withShortLock } from '../../../src/system/files/short-lock.ts'

export function lockIn(directory: string, turn: number): string {
  return path.join(directory, `${turn}.lock`)
}

if (process.argv[1]?.includes('short-lock-taker') === true) {
  const [directory = '', count = '0'] = process.argv.slice(2)
  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  for (let turn = 0; turn < Number(count); turn += 1) {
    const inside = path.join(directory, `${turn}.inside`)
    await withShortLock({ lock: lockIn(directory, turn), busy: '', try_ms: 1 }, async (stillMine) => {
      try {
        fs.writeFileSync(inside, '', { flag: 'wx' })
      } catch {
        process.stdout.write(`${turn}: another one is inside\n`)
        return
      }
      await new Promise((resolve) => setImmediate(resolve))
      if (!stillMine()) process.stdout.write(`${turn}: it was taken away\n`)
      fs.rmSync(inside)
    })
  }
  process.stdin.destroy()
}
