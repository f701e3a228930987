import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { WebSocket } from 'ws'
import { webSocketDial } from '../../../src/daemon/link/dial.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const REPORTER = path.join(import.meta.dirname, '../../support/processes/late-reporter.mjs')
/** Without the fix, a report arrived after a pong that did not wait in about one of three rounds. */
const ROUNDS = 30
/** Hooks of several tools may report at once. */
const SHIMS = 8

test('a pong follows everything written to the process before the ping, also on connections not yet accepted', async () => {
  const directory = temporaryDirectory()
  const [local_socket, flag] = [path.join(directory, 's'), path.join(directory, 'flag')]
  const order: string[] = []
  const shims = net.createServer((shim) => shim.on('data', () => order.push('report')))
  shims.listen(local_socket)
  await once(shims, 'listening')
  onTestFinished(() => void shims.close())
  const other = spawn(process.execPath, [REPORTER, local_socket, flag, String(SHIMS)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void other.kill('SIGKILL'))
  const [port] = (await once(other.stdout, 'data')) as [Buffer]
  const link = (await webSocketDial(systemClock))(
    `ws://127.0.0.1:${port.toString().trim()}`,
    'token',
  ) as WebSocket
  onTestFinished(() => link.terminate())
  await once(link, 'open')
  const pong = link.pong.bind(link)
  link.pong = (...args: unknown[]) => {
    order.push('pong')
    pong(...(args as Parameters<typeof pong>))
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    order.length = 0
    other.stdin.write('now\n')
    // Simulates a busy daemon: all reports have arrived when its loop continues.
    while (!fs.existsSync(flag));
    fs.rmSync(flag)
    await eventually('all were read', () => order.length === SHIMS + 1)
    expect(order.indexOf('pong')).toBe(SHIMS)
  }
})
