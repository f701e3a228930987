/** Tests which operations the recorder of the crash points waits for before it reports that a process is at rest. */
import { build } from 'esbuild'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const run = promisify(execFile)
const RECORDER = path.resolve('test/crash-points/recorder.ts')

/** Prints the result of `work`, which receives `fs`, `promises`, a `file`, and only one thread-pool thread. */
async function recorded(work: string): Promise<unknown> {
  const place = temporaryDirectory()
  const program = path.join(place, 'recorded.mjs')
  const source = `
    import { pbkdf2 } from 'node:crypto'
    import fs from 'node:fs'
    import promises from 'node:fs/promises'
    import { record } from '${RECORDER}'
    const recorder = record('${place}/home', '${place}/trace.jsonl')
    fs.mkdirSync('${place}/home')
    const file = '${place}/home/file'
    // Keeps the only thread of the pool busy.
    const keepThread = () => pbkdf2('', '', 300_000, 64, 'sha512', () => undefined)
    console.log(JSON.stringify(await (async () => { ${work} })()))
  `
  await build({
    stdin: { contents: source, resolveDir: place },
    ...{ outfile: program, bundle: true, platform: 'node', target: 'node20', format: 'esm' },
  })
  const { stdout } = await run(process.execPath, ['--expose-internals', '--no-warnings', program], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
  })
  return JSON.parse(stdout)
}

test.each([
  [
    'a handle to be closed',
    'const handle = await promises.open(file, "w"); keepThread(); handle.close().then(() => (over = true))',
  ],
  [
    'a number to be closed',
    'const fd = fs.openSync(file, "w"); keepThread(); fs.close(fd, () => (over = true))',
  ],
  [
    'what is written',
    'keepThread(); promises.writeFile(file, "text").then(() => promises.stat(file)).then(() => (over = true))',
  ],
])('the recorder waits for %s', async (_, work) => {
  expect(await recorded(`let over = false; ${work}; await recorder.quiet(); return over`)).toBe(true)
})
