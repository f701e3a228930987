/** Tests a hub whose disk is full for a while: it reports this and recovers automatically. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { openHubLogs } from '../../../src/hub/observability/logs.ts'
import { startRecoverableHub } from '../../../src/hub/restart-on-recovery.ts'
import { systemDisk, type Disk } from '../../../src/storage/file/journal/disk.ts'
import { openStores, type Stores } from '../../../src/storage/open.ts'
import { loadConfig } from '../../../src/system/config/config.ts'
import { prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { signalMaker } from '../../support/signals.ts'
import { systemError } from '../../support/disk/memory-disk.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const running: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of running.splice(0)) await stop()
})

async function start() {
  const env = { TURNBELL_HOME: temporaryDirectory() }
  const home = resolveHome(env)
  prepareHome(home)
  const clock = fakeClock()
  const settings = { onRead: () => {}, onOpen: () => {}, onOpened: async (_: Stores) => {} }
  let full = false
  const mayBeFull = () => {
    if (full) throw systemError('ENOSPC', 'write')
  }
  const disk: Disk = {
    ...systemDisk,
    open: (file, how) => {
      if (how === 'new') mayBeFull()
      return systemDisk.open(file, how)
    },
    write: (fd, source, position) => {
      mayBeFull()
      return systemDisk.write(fd, source, position)
    },
  }
  const logs = openHubLogs(home, 'error', clock)
  const ends: string[] = []
  let opened = 0
  const hub = await startRecoverableHub({
    ...{ home, clock, env, logs, facades: FACADES },
    config: loadConfig(home.config, env, { hub: { port: 0 } }),
    readConfig: () => {
      settings.onRead()
      return loadConfig(home.config, env, { hub: { port: 0 } })
    },
    open: async (uri, options) => {
      opened += 1
      settings.onOpen()
      const stores = await openStores(uri, { ...options, disk })
      await settings.onOpened(stores)
      return stores
    },
    onEnd: (why) => ends.push(why),
  })
  const stop = async () => {
    await hub.stop()
    logs.close()
  }
  running.push(stop)
  const ask = async (route: string, body?: object) => {
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${hub.operator_token}`,
      connection: 'close',
    }
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(`${hub.url}${route}`, { headers, ...init })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const send = () => ask('/api/signals/send', { to: 'bob', intent: 'note' })
  await ask('/api/personas/add', { identity: 'bob', surface: 'mcp' })
  return {
    ...{ home, hub, clock, ask, send, stop, ends, settings },
    /** Number of attempts to restart. */
    renewals: () => opened - 1,
    fill: (now: boolean) => (full = now),
    renewed: (former: unknown) =>
      eventually('it has begun anew', async () => {
        await clock.advance(1_000)
        return hub.current() !== null && hub.current() !== former
      }),
  }
}

test('a hub rejects signals while the disk is full, and accepts them again afterwards', async () => {
  const { hub, ask, send, fill, renewed, ends } = await start()
  const kept = (await send()).body['signal_id']
  const former = hub.current()
  fill(true)
  expect(await send()).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
  expect((await ask('/ready')).status).toBe(503)
  expect((await ask('/api/signals/inbox', {})).body).toMatchObject({ signals: [{ signal_id: kept }] })
  fill(false)
  await renewed(former)
  expect(hub.current()?.url).toBe(hub.url)
  expect((await send()).status).toBe(200)
  const { signals } = (await ask('/api/signals/inbox', {})).body as { signals: { signal_id: string }[] }
  expect(signals).toHaveLength(2)
  expect(signals.map(({ signal_id }) => signal_id)).toContain(kept)
  expect(ends).toEqual([])
})

test('a configuration that becomes invalid while the disk is full leaves the previous one active', async () => {
  const { home, hub, send, fill, renewed, settings } = await start()
  const former = hub.current()
  const exposed = () => hub.current()?.hub.kernel.grants().facets
  fs.writeFileSync(home.config, 'mcp: { expose: [core, memory] }')
  await eventually('it has taken that in', () => exposed()?.includes('memory'))
  fill(true)
  await send()
  settings.onRead = () => {
    throw new Error('half a line')
  }
  fill(false)
  await renewed(former)
  expect((await send()).status).toBe(200)
  expect(exposed()).toEqual(['core', 'memory'])
})

test('a hub waits for a disk that is full again', async () => {
  const { hub, send, fill, renewed, ends, settings } = await start()
  const former = hub.current()
  fill(true)
  await send()
  fill(false)
  let reads = 0
  settings.onRead = () => fill(reads++ === 0)
  await renewed(former)
  expect(reads, 'the first try was refused').toBeGreaterThan(1)
  expect((await send()).status).toBe(200)
  expect(ends).toEqual([])
})

test('a hub that restarts in place waits for a read-only disk', async () => {
  const { hub, send, fill, renewed, renewals, ends, settings } = await start()
  const former = hub.current()
  fill(true)
  await send()
  settings.onOpen = () => {
    if (renewals() === 1)
      throw new TurnbellError('home_not_permitted', { detail: 'nothing can be written (EROFS)' })
  }
  fill(false)
  await renewed(former)
  expect(renewals()).toBe(2)
  expect((await send()).status).toBe(200)
  expect(ends).toEqual([])
})

test('a hub whose disk fails and recovers during its restart restarts again', async () => {
  const { hub, clock, send, fill, renewed, renewals, settings } = await start()
  const former = hub.current()
  fill(true)
  await send()
  settings.onOpened = async ({ signals }) => {
    if (renewals() !== 1) return
    fill(true)
    await expect(signals.append(signalMaker(clock).signal())).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    fill(false)
    await clock.advance(1_000)
  }
  fill(false)
  await renewed(former)
  await eventually('signals are accepted again', async () => {
    await clock.advance(1_000)
    return (await send()).status === 200
  })
  expect(renewals()).toBe(2)
})

test('a hub stopped while the disk is full does not restart and leaves no timer', async () => {
  const { clock, send, stop, fill, renewals } = await start()
  fill(true)
  await send()
  await stop()
  fill(false)
  expect(clock.armed()).toBe(0)
  await clock.advance(100_000)
  expect(renewals()).toBe(0)
})

test('a hub keeps the address file of a hub that has taken its home', async () => {
  const { home, stop } = await start()
  const another = JSON.stringify({ pid: 1, url: 'http://127.0.0.1:7001' })
  fs.writeFileSync(home.hub_pid, another)
  await stop()
  expect(fs.readFileSync(home.hub_pid, 'utf8')).toBe(another)
})

test('an address file with a dead process, as in a restored backup, is rewritten', async () => {
  const { home, stop } = await start()
  const own = fs.readFileSync(home.hub_pid, 'utf8')
  const { pid } = spawnSync(process.execPath, ['--version'])
  const copy = `${home.hub_pid}.copy`
  fs.writeFileSync(copy, JSON.stringify({ ...(JSON.parse(own) as object), pid }))
  fs.renameSync(copy, home.hub_pid)
  await eventually('the hub can be found again', () => fs.readFileSync(home.hub_pid, 'utf8') === own)
  await stop()
})

/** Number of armed timers while it only waits; logs are flushed from time to time. */
const JUST_WAITING = 2

test('a hub stopped while it waits for its next attempt ends at once', async () => {
  const { hub, clock, send, stop, fill, settings, renewals } = await start()
  fill(true)
  await send()
  settings.onRead = () => fill(true)
  fill(false)
  await eventually('the first try is refused', async () => {
    await clock.advance(1_000)
    return hub.current() === null && renewals() === 1 && clock.armed() === JUST_WAITING
  })
  await stop()
  expect(clock.armed()).toBe(0)
})
