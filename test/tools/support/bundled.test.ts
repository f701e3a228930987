/** Tests that an interrupted command also ends its bundler. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const SUPPORT = path.resolve('test/support/command')

/** Prints its bundle directory, and does not answer the bundler before it is asked to end. */
const COMMAND = `
  import { bundled } from ${JSON.stringify(`${SUPPORT}/bundled.mjs`)}
  import { createEnding } from ${JSON.stringify(`${SUPPORT}/ending.mjs`)}
  const ending = createEnding()
  const interrupted = new Promise((resolve) => ending.onInterrupt(resolve))
  const slow = {
    name: 'slow',
    setup({ onLoad, initialOptions }) {
      onLoad({ filter: /dice/ }, async () => {
        process.stdout.write(initialOptions.outdir + '\\n')
        await interrupted
        return undefined
      })
    },
  }
  setInterval(() => {}, 60_000)
  await bundled('test', ['test/support/dice.ts'], ending, { plugins: [slow] })
  process.stdout.write('bundled')`

test.each([
  ['the command alone', (pid: number) => pid],
  ['all that the terminal runs', (pid: number) => -pid],
])('Ctrl-C for %s exits with 130 and one line, and removes all files', async (_, target) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', COMMAND], { detached: true })
  let [said, complained] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (complained += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    if (said.endsWith('\n')) process.kill(target(child.pid as number), 'SIGINT')
  })
  const [code] = (await once(child, 'close')) as [number]
  expect([code, complained]).toEqual([130, 'ended during the preparation: nothing was tried\n'])
  expect(fs.existsSync(said.trimEnd())).toBe(false)
  expect(said).toContain('turnbell-test-')
})
