import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { codexWindows } from '../../../../src/system/clients/codex-windows.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const ON_LINUX = process.platform === 'linux'
const CODEX_HOME = '/home/ada/.codex'

interface Fake {
  name?: string
  /** Number of the controlling terminal; 0 for none. */
  terminal?: number
  words?: string[]
  env?: Record<string, string>
}

/** A directory in the format of /proc with these processes. */
function procOf(...processes: Fake[]): string {
  const proc = temporaryDirectory()
  processes.forEach((one, index) => addProcess(proc, index, one))
  fs.mkdirSync(path.join(proc, 'self'))
  return proc
}

function addProcess(proc: string, index: number, fake: Fake): void {
  const { name = 'codex', terminal = 34_816, words = ['codex'], env = { HOME: '/home/ada' } } = fake
  // Above the maximum pid of Linux, so that no real process has it.
  const directory = path.join(proc, String(5_000_000 + index))
  fs.mkdirSync(directory)
  const write = (file: string, text: string) => fs.writeFileSync(path.join(directory, file), text)
  write('comm', `${name}\n`)
  write('stat', `${5_000_000 + index} (${name}) S 1 1 1 ${terminal} -1 0 0`)
  write('cmdline', `${words.join('\0')}\0`)
  write(
    'environ',
    Object.entries(env)
      .map(([key, value]) => `${key}=${value}\0`)
      .join(''),
  )
}

test.runIf(ON_LINUX).each<[string, Fake, boolean]>([
  ['a Codex in a terminal is a window', {}, true],
  ['a Codex without a terminal is not a window', { terminal: 0 }, false],
  ['another program is not a window', { name: 'vim' }, false],
  ['an app-server is not a window', { words: ['codex', 'app-server', '--listen', 'unix://x'] }, false],
  ['a single command is not a window', { words: ['codex', '--json', 'exec', 'fix it'] }, false],
  ['a window of another home does not count', { env: { HOME: '/home/bob' } }, false],
  ['a window counts for the home that CODEX_HOME names', { env: { HOME: '/', CODEX_HOME } }, true],
  ['a window of another CODEX_HOME does not count', { env: { HOME: '/home/ada', CODEX_HOME: '/x' } }, false],
])('%s', (_, fake, is_open) => {
  const proc = procOf({ name: 'bash' }, fake)
  expect(codexWindows(CODEX_HOME, { proc, clock: fakeClock() }).isOpen()).toBe(is_open)
})

test.runIf(ON_LINUX)('a window that is opened later is found at the next search', async () => {
  const clock = fakeClock()
  const proc = procOf()
  const windows = codexWindows(CODEX_HOME, { proc, clock })
  expect(windows.isOpen()).toBe(false)
  addProcess(proc, 7, {})
  await clock.advance(LIMITS.codex_windows_look_ms)
  expect(windows.isOpen()).toBe(true)
})

test.runIf(ON_LINUX)('a window that was just opened is found at once without the cache', () => {
  const proc = procOf()
  const windows = codexWindows(CODEX_HOME, { proc, clock: fakeClock() })
  expect(windows.isOpen()).toBe(false)
  addProcess(proc, 7, {})
  expect(windows.isOpen()).toBe(false)
  expect(windows.isOpen(true)).toBe(true)
  expect(windows.isOpen()).toBe(true)
})

test('a window is assumed where the system does not report processes', () => {
  expect(codexWindows(CODEX_HOME, { proc: '/nowhere', clock: fakeClock() }).isOpen()).toBe(true)
})
