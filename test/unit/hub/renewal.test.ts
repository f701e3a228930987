/** A hub whose disk is full for a while: it says so, and goes on by itself. */
import fs from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { openHubLogs } from '../../../src/hub/logs.ts'
import { startRenewed } from '../../../src/hub/renewal.ts'
import { systemDisk, type Disk } from '../../../src/storage/file/disk.ts'
import { openStores } from '../../../src/storage/open.ts'
import { loadConfig } from '../../../src/system/config.ts'
import { prepareHome, resolveHome } from '../../../src/system/home.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { systemError } from '../../support/memory-disk.ts'
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
  const settings = { onRead: () => {} }
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
  const hub = await startRenewed({
    ...{ home, clock, env, logs, facades: FACADES },
    config: loadConfig(home.config, env, { hub: { port: 0 } }),
    readConfig: () => {
      settings.onRead()
      return loadConfig(home.config, env, { hub: { port: 0 } })
    },
    open: (uri, options) => {
      opened += 1
      return openStores(uri, { ...options, disk })
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
    /** How often it has tried to begin anew. */
    renewals: () => opened - 1,
    fill: (now: boolean) => (full = now),
    renewed: (former: unknown) =>
      eventually('it has begun anew', async () => {
        await clock.advance(1_000)
        return hub.current() !== null && hub.current() !== former
      }),
  }
}

test('refuses while the disk is full, and takes signals again when it is not', async () => {
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

test('a configuration that cannot be read meanwhile changes nothing of what it last said', async () => {
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

test('a disk that is full again meanwhile is waited for', async () => {
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

test('stopped while the disk is full, it begins no more and leaves no timer behind', async () => {
  const { clock, send, stop, fill, renewals } = await start()
  fill(true)
  await send()
  await stop()
  fill(false)
  expect(clock.armed()).toBe(0)
  await clock.advance(100_000)
  expect(renewals()).toBe(0)
})

test('leaves the address of a hub that has taken its home meanwhile', async () => {
  const { home, stop } = await start()
  const another = JSON.stringify({ pid: 1, url: 'http://127.0.0.1:7001' })
  fs.writeFileSync(home.hub_pid, another)
  await stop()
  expect(fs.readFileSync(home.hub_pid, 'utf8')).toBe(another)
})

/** Beside the wait itself, the logs are handed over now and then. */
const JUST_WAITING = 2

test('stopped while it waits for its next try, it ends at once', async () => {
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
