/** Fuzzes the two files of the event log, after a kill, on a full disk, or edited by hand. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { HubEvent } from '../../../../src/contracts/events.ts'
import type { EventLog } from '../../../../src/ports/event-log.ts'
import { openFileEventLog } from '../../../../src/storage/file/events/event-log.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { linesOf } from '../../seeds.ts'
import { NEXT } from '../../parts.ts'
import { insist, type Target } from '../../target.ts'

const EVENTS_MAX = 20
const PAGE = 3
/** Larger than any real sequence number; beyond it adjacent numbers are not distinguishable. */
const SEQ_MAX = 2 ** 52
/** The line that records an opening, written before the opening assigns a seq; that seq may never be written. */
const OPENED = /^\{"opened_after":(\d+)\}$/g
const FRESH = { type: 'signal.pushed', agent_id: 'ada', data: {} }

const clock = fakeClock()

export const eventLog: Target = {
  name: 'event-log',
  promise:
    'whatever stands in its files, a log has the events that are whole, and what comes next has a new seq and is kept beside them',
  share: 0.5,
  words: [NEXT, '{"closed":true}\n', '{"opened_after":7}\n', '{"opened_after":', '"seq":'],

  open({ directory }) {
    const events = linesOf(HubEvent, 12).map((line, at) =>
      JSON.stringify({ ...(JSON.parse(line) as HubEvent), seq: at + 1, type: 'signal.pushed' }),
    )
    const file = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')
    return {
      seeds: [
        [file(events.slice(0, 6)), file([...events.slice(6), '{"closed":true}'])].join(NEXT),
        ['', file(['{"opened_after":0}', ...events.slice(0, 3)])].join(NEXT),
        [file([...events.slice(0, 3), '{"closed":true}']), ''].join(NEXT),
        [file(events.slice(0, 9)), file(['{"opened_after":10009}', events[9] ?? '']) + '{"seq":11,"ty'].join(
          NEXT,
        ),
      ],
      async attempt(input) {
        const [older = '', newer = ''] = input.toString('latin1').split(NEXT)
        fs.writeFileSync(path.join(directory, 'events.1.jsonl'), older, 'latin1')
        fs.writeFileSync(path.join(directory, 'events.jsonl'), newer, 'latin1')
        const log = openFileEventLog({ directory, clock, events_max: EVENTS_MAX })
        const found = allOf(log)
        const lines = [older, newer].flatMap((text) => Buffer.from(text, 'latin1').toString().split('\n'))
        const said = lines.flatMap((line) => eventIn(line) ?? [])
        for (const event of found)
          insist(
            said.some((one) => isDeepStrictEqual(one, event)),
            () => `nobody wrote this event: ${JSON.stringify(event)}`,
          )
        if (inOrder(said))
          insist(
            isDeepStrictEqual(found, said.slice(-EVENTS_MAX)),
            () => `there are ${said.length} events in the files and ${found.length} in the log`,
          )
        const next = log.append(FRESH)
        if (next.seq > SEQ_MAX) {
          await log.close()
          return 'too far'
        }
        insist(HubEvent.safeParse(next).success, () => `no event: ${JSON.stringify(next)}`)
        for (const { seq } of said) insist(next.seq !== seq, () => `the seq ${seq} is given out twice`)
        for (const [, told] of lines.flatMap((line) => [...line.matchAll(OPENED)]))
          insist(next.seq > Number(told), () => `${next.seq} may have been given out after ${told}`)
        await log.close()
        const again = openFileEventLog({ directory, clock, events_max: EVENTS_MAX })
        const kept = allOf(again)
        await again.close()
        // Invalid lines count towards the size limit, and so does the line of each opening; then the older file is
        // removed.
        const is_full = newer.split('\n').length + 1 >= EVENTS_MAX
        const length = is_full ? 1 : EVENTS_MAX
        insist(
          isDeepStrictEqual(kept.slice(-length), [...found, next].slice(-length)),
          () => `opened again it has ${kept.length} events, and before it had ${found.length} and one more`,
        )
        return `${Math.min(found.length, 3)} ${Math.min(said.length - found.length, 2)} ${next.seq > 10_000}`
      },
    }
  },
}

/** Reads page by page like a client, which must terminate. */
function allOf(log: EventLog): HubEvent[] {
  const all: HubEvent[] = []
  for (let since = 0, pages = 0; ; pages += 1) {
    insist(pages <= EVENTS_MAX, () => 'the pages come to no end')
    const { events, next } = log.read({ since, limit: PAGE })
    if (events.length === 0) return all
    insist(next > since, () => `the page after ${since} ends at ${next}`)
    all.push(...events)
    since = next
  }
}

function eventIn(line: string): HubEvent | null {
  try {
    return HubEvent.safeParse(JSON.parse(line)).data ?? null
  } catch {
    return null
  }
}

function inOrder(events: readonly HubEvent[]): boolean {
  return events.every(({ seq }, at) => seq > (events[at - 1]?.seq ?? 0))
}
