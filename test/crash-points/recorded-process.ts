/**
 * A process whose file calls are recorded. `hub ROOT TRACE NOW_MS` runs a whole hub; `leave ROOT TRACE NOW_MS LINE`
 * writes a spool line like a hook; `tear ROOT TRACE NOW_MS` writes the incomplete files of a killed hub. The hub's
 * clock advances only on its parent's orders.
 */
import fs from 'node:fs'
import path from 'node:path'

import { Server, type IncomingMessage, ServerResponse } from 'node:http'
import { appendToSpool } from '../../src/cli/hooks/spool.ts'
import type { SpoolEntry } from '../../src/system/files/spool-writer.ts'
import { FACADES } from '../../src/facades/all.ts'
import { composeHub } from '../../src/hub/composition.ts'
import { openHubLogs } from '../../src/hub/observability/logs.ts'
import { openStores } from '../../src/storage/open.ts'
import { loadConfig } from '../../src/system/config/config.ts'
import { prepareHome } from '../../src/system/config/home.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { fakeClock, type FakeClock } from '../support/fakes/fake-clock.ts'
import { NAME_HEADER, type Order, type Word } from './orders.ts'
import { record, type Recorder } from './recorder.ts'
import { DISK, placesIn, SIZES, type Places } from './setting.ts'

// The parent ends this process, also after Ctrl-C.
process.on('SIGINT', () => undefined)

const [what, root = '', trace = '', now_ms = '0', line = '{}'] = process.argv.slice(2)
const places = placesIn(root)
const recorder = record(root, trace)
const clock = fakeClock(Number(now_ms))

if (what === 'hub') await hub(places, recorder, clock)
else if (what === 'tear') tear(places)
else
  appendToSpool(
    { cli: { ids: createIds(clock, systemRandom), clock }, home: places.home },
    JSON.parse(line) as SpoolEntry,
  )

/** Appends incomplete lines to the newest segment and to the project's memory. */
function tear({ home, project }: Places): void {
  const newest = fs
    .readdirSync(home.hub_journal)
    .filter((name) => /^\d+\.jsonl$/.test(name))
    .sort()
    .at(-1)
  fs.appendFileSync(path.join(home.hub_journal, newest as string), Buffer.from('{"kind":"commit","at":'))
  fs.appendFileSync(path.join(project, '.turnbell/blackboard.jsonl'), Buffer.from('{"id":"01KJM'))
}

async function hub({ home }: Places, { mark, quiet }: Recorder, hubClock: FakeClock): Promise<void> {
  markRequests((said, name) => mark({ mark: said, name, now_ms: hubClock.now() }))
  const readConfig = () =>
    loadConfig(home.config, {}, { hub: { port: 0 }, mcp: { expose: ['core', 'knowledge', 'trace'] } })
  prepareHome(home)
  const logs = openHubLogs(home, 'info', hubClock)
  const composed = await composeHub({
    ...{ home, readConfig, logs, clock: hubClock, facades: FACADES, env: {} },
    config: readConfig(),
    open: (uri, options) => openStores(uri, { ...options, disk: DISK, sizes: SIZES }),
    onEnd: (why) => {
      throw new Error(`the hub ended by itself: ${why}`)
    },
    onWritable: () => undefined,
  })
  const say = (word: Word) => process.send?.(word)
  process.on('message', (order: Order) => {
    const done = async () => {
      if (order.do === 'advance') await hubClock.advance(order.ms)
      if (order.do === 'jump') hubClock.setBack(-order.ms)
      if (order.do === 'stop') {
        await composed.stop()
        logs.close()
      }
      await quiet()
      say({ done: true, now_ms: hubClock.now() })
      if (order.do === 'stop') process.disconnect()
    }
    void done()
  })
  process.on('disconnect', () => process.exit(0))
  say({ ready: composed.url })
}

/** `asked` is written before the request is processed, `answered` before the first byte of its response is sent. */
function markRequests(mark: (said: 'asked' | 'answered', name: string) => void): void {
  const nameOf = ({ headers }: IncomingMessage) => headers[NAME_HEADER] as string | undefined
  const { emit } = Server.prototype as unknown as { emit: (event: string, ...args: unknown[]) => boolean }
  Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]) {
    const name = event === 'request' ? nameOf(args[0] as IncomingMessage) : undefined
    if (name !== undefined) mark('asked', name)
    return emit.call(this, event, ...args)
  } as typeof Server.prototype.emit
  const { end } = ServerResponse.prototype as unknown as { end: (...args: unknown[]) => ServerResponse }
  ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
    const name = nameOf(this.req)
    if (name !== undefined) mark('answered', name)
    return end.apply(this, args)
  } as typeof ServerResponse.prototype.end
}
