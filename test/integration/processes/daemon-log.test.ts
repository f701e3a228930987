/** A daemon whose log is on a full disk. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXIT } from '../../../src/contracts/errors/exit-codes.ts'
import { takeOwnerLock } from '../../../src/system/files/owner-lock.ts'
import {
  ensurePrivateDirectory,
  personaPaths,
  prepareHome,
  resolveHome,
} from '../../../src/system/config/home.ts'
import { bundle } from '../../support/command/bundle.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const START = 'const { main } = await import(process.argv[1]); await main(process.argv.slice(2))'

function fullHome() {
  const home = resolveHome({ TURNBELL_HOME: temporaryDirectory() })
  prepareHome(home)
  const paths = personaPaths(home, 'local', 'ada', process.env)
  ensurePrivateDirectory(paths.run_dir)
  fs.symlinkSync('/dev/full', paths.log)
  return { home, paths }
}

async function startDaemon(root: string) {
  const program = await bundle('src/daemon/main.ts', temporaryDirectory())
  const args = ['--home', root, '--persona', 'ada', '--surface', 'mcp']
  const child = spawn(process.execPath, ['--input-type=module', '--eval', START, program, ...args], {
    env: { PATH: process.env['PATH'], HOME: root },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
  return { child, said, closed: once(child, 'close') }
}

describe.skipIf(!fs.existsSync('/dev/full'))('a daemon that cannot write its log', () => {
  test('the daemon reports on stderr that it cannot log, runs, and ends when asked', async () => {
    const { home, paths } = fullHome()
    const { child, said, closed } = await startDaemon(home.root)
    await Promise.race([once(child.stdout, 'data'), closed])
    expect(said.stdout, said.stderr).toContain('turnbell daemon ready ada')
    child.kill('SIGTERM')
    expect(await closed).toEqual([EXIT.done, null])
    expect(said.stderr).toMatch(/^warn: .+ada\.log cannot be written \(ENOSPC/)
    expect(fs.existsSync(paths.daemon_pid)).toBe(false)
  })

  test('the daemon reports why it does not start', async () => {
    const { home, paths } = fullHome()
    const lock = await takeOwnerLock({ lock: paths.daemon_lock, what: 'the daemon of ada', onLost() {} })
    onTestFinished(() => lock.release())
    const { said, closed } = await startDaemon(home.root)
    expect(await closed).toEqual([EXIT.already_running, null])
    expect(said.stderr).toContain(`pid ${process.pid} holds`)
  })
})
