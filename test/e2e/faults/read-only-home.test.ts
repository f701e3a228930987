/** A file system that turns read-only under a real hub and daemon, and becomes writable again. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adviserIn } from '../../support/advice.ts'
import { eventually } from '../../support/eventually.ts'
import { mountFailingDisk } from '../../support/disk/failing-disk.ts'
import { hubHttp } from '../../support/worlds/hub-http.ts'
import { temporaryHome } from '../../support/processes/processes.ts'

const CONFIG = 'hub: {port: 0}\npersonas: {ada: {surface: mcp}}\n'

/** Returns the time since the holder of the lock last refreshed it. */
const age_ms = (lock: string) => Date.now() - fs.statSync(lock).mtimeMs

test('a hub on a read-only home refuses changes with the fault, serves reads and recovers by itself', async ({
  skip,
}) => {
  const outer = temporaryHome()
  const home = path.join(outer, 'home')
  fs.mkdirSync(home, { mode: 0o700 })
  const disk = mountFailingDisk(home)
  if (disk === null) return skip()
  onTestFinished(() => disk.unmount())
  fs.writeFileSync(path.join(home, 'config.yaml'), CONFIG, { mode: 0o600 })
  const adviser = adviserIn(home)
  onTestFinished(() => adviser.close())
  const hub = await adviser.start('hub')
  const daemon = await adviser.start('daemon', '--persona', 'ada')
  const http = hubHttp(home)
  const url = http.url()
  const send = (payload: number) =>
    http.post<{ signal_id: string }>('/api/signals/send', { to: 'ada', intent: 'note', payload })
  const waiting = async () =>
    (await http.post<{ signals: { signal_id: string }[] }>('/api/signals/inbox', { to: 'ada' })).signals.map(
      ({ signal_id }) => signal_id,
    )
  const kept = [(await send(1)).signal_id]

  disk.turnReadOnly()
  await expect(send(2)).rejects.toMatchObject({
    problem: { code: 'store_unavailable', hint: expect.stringContaining('remount,rw') as string },
  })
  expect((await fetch(`${url}/ready`)).status).toBe(503)
  expect(await waiting()).toEqual(kept)
  expect(await adviser.finding('hub')).toMatchObject({
    state: 'broken',
    detail: expect.stringContaining('EROFS') as string,
    mend: expect.stringContaining('remount,rw') as string,
  })
  expect(await adviser.finding('home')).toMatchObject({
    state: 'broken',
    mend: expect.stringContaining('remount,rw') as string,
  })
  // The locks can no longer be refreshed, which ends neither process.
  for (const lock of ['hub/lock', 'hub/store.lock', 'run/local/ada/daemon.lock'])
    await eventually(`${lock} was not kept fresh`, () => age_ms(path.join(home, lock)) > 10_000)
  expect(await waiting()).toEqual(kept)
  expect((await adviser.turnbell('status', '--persona', 'ada')).code).toBe(0)
  expect([hub.child.exitCode, daemon.child.exitCode]).toEqual([null, null])

  disk.replace()
  kept.push(await eventually('it takes signals again', () => send(3).then((sent) => sent.signal_id)))
  expect((await waiting()).toSorted()).toEqual(kept.toSorted())
  await eventually('doctor is well', async () => {
    // doctor reports such a small disk as too full.
    const broken = (await adviser.findings()).filter(
      ({ check, state }) => state === 'broken' && check !== 'disk',
    )
    expect(broken).toEqual([])
    return true
  })
  expect(http.url()).toBe(url)
  expect([hub.child.exitCode, daemon.child.exitCode]).toEqual([null, null])
})

test('no hub and no daemon starts in a read-only home, and their hint fixes it', async ({ skip }) => {
  const home = temporaryHome()
  const mount = (...args: string[]) => spawnSync('mount', [...args, home]).status === 0
  if (!mount('-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'tmpfs')) {
    console.warn('LEFT OUT: a home that is mounted read-only, which takes the right to mount one')
    return skip()
  }
  onTestFinished(() => void spawnSync('umount', ['--lazy', home]))
  fs.writeFileSync(path.join(home, 'config.yaml'), CONFIG, { mode: 0o600 })
  const adviser = adviserIn(home)
  onTestFinished(() => adviser.close())
  expect(mount('-o', 'remount,ro')).toBe(true)
  for (const words of [['hub'], ['daemon', '--persona', 'ada']]) {
    const refused = await adviser.turnbell(...words, '--json')
    expect(refused.code).not.toBe(0)
    expect(refused.json(), words.join(' ')).toMatchObject({
      hint: expect.stringContaining('remount,rw') as string,
    })
  }
  expect(await adviser.finding('home')).toMatchObject({
    state: 'broken',
    mend: expect.stringContaining('remount,rw') as string,
  })
  expect(mount('-o', 'remount,rw')).toBe(true)
  await adviser.start('hub')
  expect(await adviser.finding('hub')).toMatchObject({ state: 'ok' })
})
