/** Tests how `turnbell up` ends: by commands that stop its processes, and by Ctrl-C at a terminal. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { EXIT } from '../../src/contracts/errors/exit-codes.ts'
import { runningHub } from '../../src/system/config/hub-discovery.ts'
import { personaPaths, resolveHome } from '../../src/system/config/home.ts'
import { attachedUsers } from '../../src/system/clients/attached-users.ts'
import { processAlive, readPidFile } from '../../src/system/process/process-info.ts'
import { eventually } from '../support/eventually.ts'
import {
  BIN,
  cleanEnvironment,
  end,
  startHub,
  startReady,
  temporaryHome,
  turnbell,
  type Running,
} from '../support/processes/processes.ts'

const running: Running[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => end(one, 'SIGTERM')))
})

test.each([
  ['down', 'its own hub', ['down'], false],
  ['down', 'a hub that ran before', ['down'], true],
  ['uninstall', 'its own hub', ['uninstall'], false],
])('%s ends an up that watches %s', async (_, __, command, ran_before) => {
  const at = temporaryHome()
  fs.writeFileSync(path.join(at, 'config.yaml'), 'hub: {port: 0}\npersonas: {ada: {surface: mcp}}\n')
  if (ran_before) running.push(await startHub(at))
  const up = await startReady(['up', '--home', at], /turnbell up ready/)
  running.push(up)
  expect((await turnbell([...command, '--home', at])).code).toBe(0)
  expect(await up.exited).toBe(EXIT.done)
  expect(runningHub(resolveHome({}, at))).toBeNull()
})

/** Runs a command until it exits while keys are pressed, and writes its exit code to a file. */
const AND_ITS_CODE = 'trap : INT; "$@"; echo $? > "$0"'

/** Runs `turnbell up` in a pane of a separate tmux server. tmux itself does not report every exit code. */
function upInPane(at: string) {
  const code = path.join(at, 'up.code')
  const socket = path.join(at, 'tmux.sock')
  const env = cleanEnvironment({ TERM: 'xterm-256color', LANG: 'C.UTF-8' })
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { env, encoding: 'utf8' })
  const value = (name: string) => tmux('display-message', '-p', `#{${name}}`).trim()
  const up = ['sh', '-c', AND_ITS_CODE, code, process.execPath, BIN, 'up', '--home', at]
  tmux('set-option', '-g', 'remain-on-exit', 'on', ';', 'new-session', '-d', '-x', '120', '-y', '40', ...up)
  const pid = Number(value('pane_pid'))
  onTestFinished(async () => {
    tmux('kill-server')
    await eventually('up has ended', () => !processAlive(pid))
  })
  return {
    press: (...keys: string[]) => void tmux('send-keys', ...keys),
    shows: (what: RegExp) =>
      eventually(`the screen shows ${what}`, () => what.test(tmux('capture-pane', '-p'))),
    exited: () => eventually('up has ended', () => fs.readFileSync(code, 'utf8').trim() || null),
  }
}

test('Ctrl-C in up at a terminal asks while a window is open: n continues, y stops', async () => {
  const at = temporaryHome()
  fs.writeFileSync(path.join(at, 'config.yaml'), 'hub: {port: 0}\npersonas: {ada: {surface: mcp}}\n')
  const { run_dir, daemon_pid } = personaPaths(resolveHome({}, at), 'local', 'ada', {})
  const up = upInPane(at)
  await up.shows(/^ada +CONNECTED/m)
  const daemon = readPidFile(daemon_pid) as number
  attachedUsers(run_dir, 'codex').attach(process.pid)
  for (const answer of ['n', 'y']) {
    up.press('C-c')
    // An answered question has its answer in the same line.
    await up.shows(/Stop\? \[y\/N\]$/m)
    expect(processAlive(daemon)).toBe(true)
    up.press(answer, 'Enter')
    if (answer === 'n') await up.shows(/^ada +CONNECTED/m)
  }
  expect(await up.exited()).toBe(String(EXIT.done))
  expect(processAlive(daemon)).toBe(false)
})
