/** Damages the files by which clients find a hub in every way: those of a killed hub and of a running one. */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startEmbeddedHub } from '../../../src/hub/embedded/embedded-hub.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { loadConfig } from '../../../src/system/config/config.ts'
import { prepareHome, resolveHome, type Home } from '../../../src/system/config/home.ts'
import { runningHub } from '../../../src/system/config/hub-discovery.ts'
import { readText } from '../../../src/system/files/watch-file.ts'
import { DAMAGES, DAMAGES_OF } from '../../support/disk/damage.ts'
import { rowOf } from '../../support/disk/damage-table.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const NAMES = ['hub.pid', 'port']
let cells = 0
afterAll(() => console.log(`files of a running hub, damaged: ${cells} cells`))

function newHome(): Home {
  const home = resolveHome({}, path.join(temporaryDirectory(), 'home'))
  prepareHome(home)
  return home
}

const start = (home: Home) => {
  const readConfig = () => loadConfig(home.config, {})
  return startEmbeddedHub({ home, readConfig, clock: systemClock, env: {}, onEnd() {} })
}
const answers = async (home: Home) => (await fetch(`${runningHub(home)?.url}/ready`)).status === 200

/** Writes the files as a killed hub leaves them. */
function writeBoth({ hub_dir }: Home): void {
  const pid = { pid: 999_999, url: 'http://127.0.0.1:1', started_at: '2026-01-01T00:00:00.000Z' }
  fs.writeFileSync(path.join(hub_dir, 'hub.pid'), `${JSON.stringify(pid)}\n`)
  fs.writeFileSync(path.join(hub_dir, 'port'), '41234\n')
}

test('a hub starts with any damage to the files of its predecessor, and clients find it', async () => {
  for (const name of NAMES) expect(rowOf(`hub/${name}`)?.stopped).toEqual({ otherwise: 'heals' })
  const home = newHome()
  for (const damage of DAMAGES_OF.file) {
    writeBoth(home)
    for (const name of NAMES) DAMAGES[damage](path.join(home.hub_dir, name))
    const hub = await start(home)
    expect(await answers(home), damage).toBe(true)
    await hub.stop()
    cells += NAMES.length
    for (const name of NAMES) fs.rmSync(path.join(home.hub_dir, name), { recursive: true, force: true })
  }
})

test('a running hub rewrites its damaged address file, and the next hub starts', async () => {
  for (const name of NAMES) expect(rowOf(`hub/${name}`)?.running).toEqual({ otherwise: 'heals' })
  const home = newHome()
  const hub = await start(home)
  const text = readText(home.hub_pid)
  for (const damage of DAMAGES_OF.file) {
    DAMAGES[damage](home.hub_pid)
    await eventually(`${damage}: the file is there again`, () => readText(home.hub_pid) === text)
    if (!fs.existsSync(home.hub_port)) fs.writeFileSync(home.hub_port, '41234\n')
    DAMAGES[damage](home.hub_port)
    expect(await answers(home), damage).toBe(true)
    fs.rmSync(home.hub_port, { recursive: true, force: true })
    cells += NAMES.length
  }
  await hub.stop()
})
