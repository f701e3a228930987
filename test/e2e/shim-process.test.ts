/** Tests a supervised shim as a separate process without its daemon: which processes end with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writePidFile } from '../../src/system/process/pid-file.ts'
import { BIN, cleanEnvironment, temporaryHome } from '../support/processes/processes.ts'

const SHIM = path.join(path.dirname(BIN), 'adapters/codex/shim.js')

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'on %s a shim stops its app-server too',
  async (os_signal) => {
    const home = temporaryHome()
    onTestFinished(() => fs.rmSync(home, { recursive: true, force: true }))
    const run_dir = path.join(home, 'run/local/ada')
    fs.mkdirSync(run_dir, { recursive: true, mode: 0o700 })
    fs.mkdirSync(path.join(home, 'bin'))
    fs.writeFileSync(path.join(home, 'bin/codex'), '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 })
    const server = spawn('sleep', ['1000'])
    onTestFinished(() => void server.kill('SIGKILL'))
    writePidFile(path.join(run_dir, 'codex.pid'), server.pid as number)
    const server_ended = once(server, 'exit')

    // A fake daemon for the shim; after the first message the shim handles termination signals.
    const daemon = net.createServer((socket) => socket.once('data', () => daemon.emit('spoken to')))
    onTestFinished(() => void daemon.close())
    await new Promise<void>((resolve) => daemon.listen(path.join(run_dir, 'surface.sock'), resolve))
    const spoken_to = once(daemon, 'spoken to')
    const shim = spawn(process.execPath, [SHIM, '--home', home, '--persona', 'ada'], {
      env: cleanEnvironment({ PATH: `${path.join(home, 'bin')}:${process.env['PATH']}` }),
      stdio: 'ignore',
    })
    onTestFinished(() => void shim.kill('SIGKILL'))
    const shim_ended = once(shim, 'exit')
    await spoken_to
    shim.kill(os_signal)
    expect(await shim_ended).toEqual([0, null])
    expect(await server_ended).toEqual([null, 'SIGTERM'])
  },
)
