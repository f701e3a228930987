import fc from 'fast-check'
import pc from 'picocolors'
import { describe, expect, test } from 'vitest'
import { withMail } from '../../../../src/cli/up/mail.ts'
import type { HubEvent } from '../../../../src/contracts/events.ts'
import { withDoorbells, type RecentDoorbell } from '../../../../src/cli/up/recent-doorbells.ts'
import { changes } from '../../../../src/cli/up/lines.ts'
import type { ProcessView } from '../../../../src/cli/up/managed-process.ts'
import { openScreen } from '../../../../src/cli/up/screen.ts'
import { clip, frame, WATCHING, type Snapshot } from '../../../../src/cli/up/view.ts'
import { daemonStatus } from '../../../support/fakes/fake-daemon.ts'

const plain = pc.createColors(false)
const view = (name: string, more: Partial<ProcessView> = {}): ProcessView => ({
  ...{ name, state: 'running', pid: 42, ours: true, restarts: 0, note: null },
  ...more,
})
const bell = (n: number, more: Partial<RecentDoorbell> = {}): RecentDoorbell => ({
  doorbell_id: `bell-${n}`,
  identity: 'ada',
  signal_id: `signal-${n}`,
  stage: 'requested',
  at: `2026-01-01T00:00:${String(n).padStart(2, '0')}.000Z`,
  ...more,
})
const snapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
  version: '1.2.3',
  home: '/home/ada/.turnbell',
  hub: view('hub'),
  hub_url: 'http://127.0.0.1:4888',
  hub_uptime_s: 61,
  daemons: [
    { view: view('ada'), status: daemonStatus('ada', { pending_count: 3, doorbells_rung: 12 }) },
    {
      view: view('bob', { state: 'waiting', pid: null, note: 'ended with exit code 1, restart in 2 s' }),
      status: null,
    },
  ],
  wrapped: ['cleo'],
  doorbells: [bell(2, { stage: 'seen' }), bell(1)],
  ...more,
})

describe('the live view', () => {
  test('the live view shows the hub, every persona and the last doorbells', () => {
    const lines = frame(snapshot(), { columns: 120, rows: 30 }, plain)
    expect(lines.map((line) => line.trimEnd())).toEqual([
      'turnbell 1.2.3  http://127.0.0.1:4888  /home/ada/.turnbell',
      'hub running, process 42, up 1 min',
      '',
      'PERSONA  STATE      QUEUE  SURFACE  TURN  DELIVERY  DRAINED  BELLS',
      'ada      CONNECTED      3  mcp      idle  ok        never       12',
      'bob      waiting: ended with exit code 1, restart in 2 s',
      'cleo     wrapped',
      '',
      'LAST DOORBELLS',
      '00:00:02  ada  seen  for signal-2',
      '00:00:01  ada  requested  for signal-1',
      '',
      'Ctrl-C stops the processes that were started here.',
    ])
  })

  test('the live view shows that all processes were started elsewhere', () => {
    const theirs = (name: string) => view(name, { ours: false })
    const daemons = [{ view: theirs('ada'), status: daemonStatus('ada') }]
    const now = snapshot({ hub: theirs('hub'), daemons })
    const foot = (shown: Snapshot) => frame(shown, { columns: 120, rows: 30 }, plain).at(-1)
    expect(foot(now)).toBe(`Only ${WATCHING}; Ctrl-C stops none of them.`)
    expect(changes(null, now).at(-1)).toBe(WATCHING)
    expect(changes(now, now)).toEqual([])
    const mixed = snapshot({ hub: theirs('hub') })
    expect(foot(mixed)).toBe('Ctrl-C stops the processes that were started here.')
    expect(changes(null, mixed)).not.toContain(WATCHING)
  })

  test('the live view prints the first step without personas', () => {
    const lines = frame(
      snapshot({ daemons: [], wrapped: [], doorbells: [] }),
      { columns: 80, rows: 24 },
      plain,
    )
    expect(lines.join('\n')).toContain('turnbell persona add')
  })

  test('the live view drops columns on a narrow terminal but not the name', () => {
    const header = (columns: number) =>
      frame(snapshot(), { columns, rows: 24 }, plain).find((line) => line.startsWith('PERSONA'))
    expect(header(60)).not.toContain('DRAINED')
    expect(header(60)).toContain('QUEUE')
    expect(header(30)).toMatch(/^PERSONA +STATE +QUEUE *$/)
    expect(header(10)).toMatch(/^PERSONA/)
  })

  test('the live view counts the personas that do not fit', () => {
    const daemons = Array.from({ length: 40 }, (_, n) => ({
      view: view(`agent-${n}`),
      status: daemonStatus(`agent-${n}`),
    }))
    const lines = frame(snapshot({ daemons }), { columns: 100, rows: 12 }, plain)
    expect(lines).toHaveLength(12)
    expect(lines.join('\n')).toContain('… and 36 more')
  })

  test('the live view never exceeds its terminal', () => {
    const Word = fc.string({ maxLength: 70 })
    const Daemon = fc.record({ name: Word, note: fc.option(Word), pending: fc.nat(), session: fc.boolean() })
    fc.assert(
      fc.property(
        fc.array(Daemon, { maxLength: 12 }),
        fc.integer({ min: 1, max: 140 }),
        fc.integer({ min: 1, max: 40 }),
        (daemons, columns, rows) => {
          const shown = snapshot({
            daemons: daemons.map(({ name, note, pending, session }) => ({
              view: view(name, { note }),
              status: session ? daemonStatus('x', { identity: name, pending_count: pending }) : null,
            })),
          })
          const lines = frame(shown, { columns, rows }, plain)
          expect(lines.length).toBeLessThanOrEqual(rows)
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)

          for (const line of lines) expect(line).not.toMatch(/[\u0000-\u001f]/)
        },
      ),
    )
  })

  test('the live view has the same text with and without colours', () => {
    const size = { columns: 90, rows: 24 }

    const stripped = frame(snapshot(), size, pc.createColors(true)).map((line) =>
      line.replace(/\u001b\[\d+m/g, ''),
    )
    expect(stripped).toEqual(frame(snapshot(), size, plain))
  })
})

test.each([
  ['short', 10, 'short'],
  ['exactly', 7, 'exactly'],
  ['too long', 4, 'too…'],
  ['x', 0, ''],
  ['xy', 1, 'x'],
  ['a\u001b[2Jb\nc', 20, 'a [2Jb c'],
])('the text %j in %d columns is clipped to %j', (text, width, clipped) =>
  expect(clip(text, width)).toBe(clipped),
)

describe('the screen', () => {
  test('the screen writes a frame once, clears the rest of each line and restores the terminal', () => {
    const written: string[] = []
    const screen = openScreen((text) => written.push(text))
    screen.draw(['one', 'two'])
    screen.draw(['one', 'two'])
    screen.draw(['one'])
    screen.close()
    screen.close()
    screen.draw(['late'])
    expect(written).toEqual([
      '\u001b[?1049h\u001b[?25l',
      '\u001b[?2026h\u001b[Hone\u001b[K\r\ntwo\u001b[K\u001b[J\u001b[?2026l',
      '\u001b[?2026h\u001b[Hone\u001b[K\u001b[J\u001b[?2026l',
      '\u001b[?25h\u001b[?1049l',
    ])
  })
})

describe('plain lines', () => {
  test('plain lines contain everything once and then only changes', () => {
    const first = snapshot()
    expect(changes(null, first)).toEqual([
      'hub: running (process 42)',
      'ada: running (process 42)',
      'bob: waiting, ended with exit code 1, restart in 2 s',
      'ada: connected, mcp idle, 3 signals pending, delivery ok',
      'ada: doorbell requested for signal-1',
      'ada: doorbell seen for signal-2',
    ])
    expect(changes(first, snapshot())).toEqual([])
    const later = snapshot({
      daemons: [{ view: view('ada'), status: daemonStatus('ada', { pending_count: 1, uptime_s: 99 }) }],
      doorbells: [bell(3, { stage: 'accepted' }), ...first.doorbells],
    })
    expect(changes(first, later)).toEqual([
      'bob: no longer configured or active',
      'ada: connected, mcp idle, 1 signal pending, delivery ok',
      'ada: doorbell rung for signal-3',
    ])
  })
})

describe('signals to the user', () => {
  const pushed = (signal_id: string, agent_id: string, at: string): HubEvent => ({
    ...{ seq: 1, type: 'signal.pushed', timestamp: at, agent_id },
    data: { signal_id, from: 'ada', intent: 'reply' },
  })

  test('signals to the user are listed once, the newest first', () => {
    const events = [
      pushed('s1', 'operator', '2026-01-01T00:00:01.000Z'),
      pushed('s2', 'bob', '2026-01-01T00:00:02.000Z'),
      pushed('s3', 'operator', '2026-01-01T00:00:03.000Z'),
    ]
    const mail = withMail([], events)
    expect(mail.map(({ signal_id }) => signal_id)).toEqual(['s3', 's1'])
    expect(withMail(mail, events)).toEqual(mail)
    const line = 'for you: reply from ada, s3; read it with turnbell inbox'
    expect(changes(snapshot({ mail: mail.slice(1) }), snapshot({ mail }))).toEqual([line])
    expect(frame(snapshot({ mail }), { columns: 120, rows: 30 }, plain)).toContain(line)
  })
})

describe('doorbells from the event stream', () => {
  const event = (type: string, doorbell_id: string, timestamp: string): HubEvent => ({
    seq: 1,
    type,
    timestamp,
    agent_id: 'ada',
    data: { doorbell_id, signal_id: 'signal' },
  })
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`

  test('doorbells are listed once, the newest first, with their latest stage', () => {
    const bells = withDoorbells(
      [],
      [
        event('doorbell.requested', 'a', at(1)),
        event('doorbell.requested', 'b', at(2)),
        event('doorbell.seen', 'a', at(3)),
        event('doorbell.accepted', 'a', at(4)),
        event('signal.pushed', 'c', at(5)),
      ],
    )
    expect(bells.map(({ doorbell_id, stage, at: when }) => [doorbell_id, stage, when])).toEqual([
      ['b', 'requested', at(2)],
      ['a', 'seen', at(1)],
    ])
  })

  test('doorbells are unchanged if the stream is read again', () => {
    const events = [event('doorbell.requested', 'a', at(1)), event('doorbell.seen', 'a', at(2))]
    const once = withDoorbells([], events)
    expect(withDoorbells(once, events)).toEqual(once)
  })

  test('the number of doorbells is limited', () => {
    const events = Array.from({ length: 500 }, (_, n) => event('doorbell.requested', `b${n}`, at(1)))
    expect(withDoorbells([], events).length).toBeLessThanOrEqual(50)
  })
})
