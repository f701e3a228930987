/** Damages every file and directory of a daemon in every way, before it starts and while it runs. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import type { FindingDocument } from '../../../src/cli/doctor/finding.ts'
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { acquireDaemonRunFiles } from '../../../src/system/config/daemon-run-files.ts'
import { personaPaths, prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { connectLocally } from '../../../src/system/ipc/unix-socket.ts'
import { replaceEntry } from '../../../src/system/files/atomic-write.ts'
import { readText } from '../../../src/system/files/watch-file.ts'
import { daemonWorld } from '../../support/worlds/daemon-world.ts'
import { cellsOf, outcomeOf } from '../../support/disk/damage-table.ts'
import { DAMAGES } from '../../support/disk/damage.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/processes/test-cli.ts'

const RUN = 'run/local/ada'
const PATHS = [
  ...['daemon.pid', 'daemon.state.json', 'metrics.prom', 'control.sock', 'surface.sock'].map(
    (name) => `${RUN}/${name}`,
  ),
  ...['run', 'run/local', RUN],
]
let cells = 0
afterAll(() => console.log(`files of a daemon, damaged: ${cells} cells`))

function newHome() {
  const root = path.join(temporaryDirectory(), 'home')
  const home = resolveHome({}, root)
  prepareHome(home)
  fs.writeFileSync(home.config, 'personas: {ada: {surface: mcp}}\n', { mode: 0o600 })
  return { root, paths: personaPaths(home, 'local', 'ada', {}) }
}
type Place = ReturnType<typeof newHome>

/** Returns a daemon with all files in its run directory, composed like the real one. */
async function daemonIn({ paths }: Place) {
  const clock = fakeClock()
  const place = await acquireDaemonRunFiles({
    paths,
    identity: 'ada',
    log: silentLog,
    onLost: () => expect.unreachable(),
  })
  let released: Promise<void> | null = null
  const release = () => (released ??= place.release())
  onTestFinished(release)
  const { daemon, connected } = await daemonWorld({
    daemon: {
      ...{ clock, paths, restoreRunFiles: () => place.remake() },
      state_file: {
        read: () => readText(paths.daemon_state),
        write: (text) => replaceEntry(paths.daemon_state, text),
      },
      writeMetrics: (text) => replaceEntry(paths.metrics_file, text),
    },
  })
  await daemon.start()
  await connected()
  return {
    clock,
    async stop() {
      await daemon.stop()
      await release()
    },
  }
}

/** Returns whether it is reachable and its files have the expected contents. */
async function isWhole({ paths }: Place): Promise<boolean> {
  const peer = await connectLocally(paths.control_socket)
  try {
    const { identity } = (await peer.request('status', {}, 5_000)) as unknown as DaemonStatus
    const state = JSON.parse(readText(paths.daemon_state) ?? '{}') as { version?: number }
    return (
      identity === 'ada' &&
      fs.lstatSync(paths.surface_socket).isSocket() &&
      readText(paths.daemon_pid) === `${process.pid}\n` &&
      readText(paths.metrics_file)?.includes('daemon_up') === true &&
      state.version === 1
    )
  } finally {
    peer.close()
  }
}

async function doctorOn(root: string): Promise<FindingDocument[]> {
  const turnbell = testCli({ home: root, env: { PATH: '' } })
  await turnbell.run('doctor', '--json')
  return turnbell.json<{ findings: FindingDocument[] }>().findings
}

/** doctor reports the entry, and its suggested command moves it away. */
async function moveAway(root: string, file: string): Promise<void> {
  const found = (await doctorOn(root)).find(
    ({ state, detail }) => state === 'broken' && detail.startsWith(`${file} `),
  )
  const command = /`(mv [^`]+)`/.exec(found?.mend ?? '')?.[1]
  expect(command, `doctor says nothing of ${file}`).toBeDefined()
  execFileSync('sh', ['-c', command ?? 'false'])
}

test.each(cellsOf(PATHS))('a daemon starts with damage to $path: $damage', async ({ path: file, damage }) => {
  const place = newHome()
  const at = path.join(place.root, file)
  await (await daemonIn(place)).stop()
  // The file as a killed daemon leaves it.
  if (!fs.existsSync(at)) fs.writeFileSync(at, '12345\n')
  DAMAGES[damage](at)
  const wanted = outcomeOf(file, 'stopped', damage)
  if (wanted !== 'heals') {
    await expect(daemonIn(place)).rejects.toMatchObject({ code: wanted })
    await moveAway(place.root, at)
  }
  const daemon = await daemonIn(place)
  await eventually('it is whole', () => isWhole(place))
  await daemon.stop()
  cells += 1
})

describe('under a running daemon', () => {
  test.each(cellsOf(PATHS))(
    'a running daemon with damage to $path: $damage',
    async ({ path: file, damage }) => {
      const place = newHome()
      const at = path.join(place.root, file)
      const daemon = await daemonIn(place)
      await eventually('it is whole', () => isWhole(place))
      DAMAGES[damage](at)
      const look = () => daemon.clock.advance(LIMITS.metrics_publish_ms)
      await look()
      if (outcomeOf(file, 'running', damage) !== 'heals') await moveAway(place.root, at)
      await eventually('it is whole again', async () => {
        if (await isWhole(place).catch((error: unknown) => expect(error).toBeInstanceOf(TurnbellError)))
          return true
        await look()
        return false
      })
      await daemon.stop()
      cells += 1
    },
  )
})
