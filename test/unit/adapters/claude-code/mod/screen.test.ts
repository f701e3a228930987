import { describe, expect, test } from 'vitest'
import type { DrawnElement, Elements } from '../../../../../adapters/claude-code/mod/engine.ts'
import type { ClientView, ViewUpdate } from '../../../../../adapters/claude-code/mod/messages.ts'
import { createScreen, type ScreenHost } from '../../../../../adapters/claude-code/mod/screen.ts'
import {
  arrivalNote,
  statusLine,
  teamRows,
  waitingRow,
} from '../../../../../adapters/claude-code/mod/shown-texts.ts'
import type { TeamView } from '../../../../../src/contracts/team-view.ts'
import { teamView } from '../../../../support/fakes/fake-team-view.ts'

const viewOf = (fields: Partial<TeamView> = {}): ClientView => ({ persona: 'ada', team: teamView(fields) })
const AWAY: ClientView = { persona: 'ada', team: null }
const REFUSED: ClientView = { persona: 'ada', team: null, refused: true }
const MEMBERS: TeamView['team'] = [
  { identity: 'ada', turn: 'idle', pending_count: 0 },
  { identity: 'bob', turn: 'unknown', pending_count: 2 },
]

describe('the texts', () => {
  test.each<[string, ClientView]>([
    ['ada', viewOf()],
    ['ada · 2 waiting', viewOf({ waiting: { count: 2, from: ['bob'] } })],
    [
      'ada · 1 waiting · 3 not completed · inbox 4',
      viewOf({
        waiting: { count: 1, from: ['bob'] },
        in_progress: { count: 3, from: ['cyd'] },
        person: { pending_count: 4, newest: [] },
      }),
    ],
    ['ada · hub not reachable', AWAY],
    ['ada', REFUSED],
  ])('the line under the prompt is: %s', (line, view) => {
    expect(statusLine(view)).toBe(line)
  })

  test.each<[string | null, ClientView]>([
    [null, AWAY],
    [null, viewOf()],
    ['1 signal waits for ada, from bob', viewOf({ waiting: { count: 1, from: ['bob'] } })],
    [
      '5 signals wait for ada, from bob, cyd, dan and 2 more',
      viewOf({ waiting: { count: 5, from: ['bob', 'cyd', 'dan', 'eve', 'fay'] } }),
    ],
    ['1 signal not completed by ada, from bob', viewOf({ in_progress: { count: 1, from: ['bob'] } })],
    ['2 signals not completed by ada, from bob', viewOf({ in_progress: { count: 2, from: ['bob'] } })],
    ['bob waits for ada', viewOf({ blocks: ['bob'] })],
    ['bob, cyd wait for ada · ada waits for dan', viewOf({ blocks: ['bob', 'cyd'], blocked_by: ['dan'] })],
  ])('the row above the prompt is: %s', (row, view) => {
    expect(waitingRow(view)).toBe(row)
  })

  test('the note of new signals contains their number and senders', () => {
    expect(arrivalNote({ count: 1, from: ['bob'] })).toBe('New signal in your inbox, from bob')
    expect(arrivalNote({ count: 3, from: ['bob', 'cyd'] })).toBe('3 new signals in your inbox, from bob, cyd')
    expect(arrivalNote({ count: 8, from: ['bob'], more: true })).toBe(
      '8 or more new signals in your inbox, from bob',
    )
  })

  test('the pane has one row for each member, and the number of the others', () => {
    expect(teamRows(viewOf({ team: MEMBERS, team_count: 4 }))).toEqual([
      { name: 'ada', turn: 'idle', waiting: '' },
      { name: 'bob', turn: 'connected', waiting: '2 waiting' },
      { name: 'and 2 more', turn: '', waiting: '' },
    ])
    expect(teamRows(AWAY)).toEqual([{ name: 'hub not reachable', turn: '', waiting: '' }])
    expect(teamRows(REFUSED)).toEqual([{ name: 'ada', turn: '', waiting: '' }])
  })
})

describe('the screen', () => {
  const elements: Elements = {
    Box: ({ children }) => ({ box: children }),
    Text: ({ children }) => ({ text: children[0] }),
  }
  const textIn = (drawn: DrawnElement | null) =>
    [...JSON.stringify(drawn).matchAll(/"text":"(.*?)"/g)].map(([, text]) => text)
  const screenOn = (host: Partial<ScreenHost> = {}) => {
    const calls: string[] = []
    const screen = createScreen(() => ({
      status: (text) => void calls.push(`status ${text}`),
      toast: (text) => void calls.push(`toast ${text}`),
      redraw: () => void calls.push('redraw'),
      async openTeam() {
        calls.push('pane')
      },
      ...host,
    }))
    let version = 0
    const show = (view: ClientView, arrived?: ViewUpdate['arrived']) =>
      screen.show({ version: ++version, view, ...(arrived === undefined ? {} : { arrived }) })
    return { screen, show, calls }
  }

  test('a view is drawn, and nothing is above the prompt while nothing waits', () => {
    const { screen, show, calls } = screenOn()
    show(viewOf())
    expect(calls).toEqual(['status ada', 'redraw'])
    expect(screen.row(elements)).toBeNull()
    show(viewOf({ blocks: ['bob'] }))
    expect(textIn(screen.row(elements))).toEqual(['turnbell', 'bob waits for ada'])
  })

  test('only the cells that are truncated can shrink', () => {
    type Node = { flexShrink?: number; wrap?: string; children: Node[] | string[] }
    const nodes: Elements = { Box: (props) => props, Text: (props) => props }
    const shrinking = (drawn: DrawnElement | null) => {
      const { children } = drawn as Node
      return (children as Node[]).filter(({ flexShrink }) => flexShrink !== 0).map(({ wrap }) => wrap)
    }
    const { screen, show } = screenOn()
    show(viewOf({ blocks: ['bob'] }))
    expect(shrinking(screen.row(nodes))).toEqual(['truncate'])
    const [row] = (screen.pane(nodes) as { children: DrawnElement[] }).children
    expect(shrinking(row ?? null)).toEqual(['truncate'])
  })

  test('the pane is opened once, as soon as there is a team', () => {
    const { screen, show, calls } = screenOn()
    const both = viewOf({ team: MEMBERS, team_count: 2 })
    for (const view of [viewOf(), both, AWAY, both]) show(view)
    screen.clear()
    show(both)
    expect(calls.filter((call) => call === 'pane')).toHaveLength(1)
    expect(textIn(screen.pane(elements))).toEqual(['ada', 'idle', '', 'bob', 'connected', '2 waiting'])
  })

  test('new signals for the person are noted once', () => {
    const { show, calls } = screenOn()
    show(viewOf(), { count: 1, from: ['bob'] })
    show(viewOf({ blocks: ['bob'] }))
    expect(calls.filter((call) => call.startsWith('toast'))).toEqual([
      'toast New signal in your inbox, from bob',
    ])
  })

  test('a cleared screen shows nothing, and is cleared once', () => {
    const { screen, show, calls } = screenOn()
    screen.clear()
    show(viewOf({ blocks: ['bob'] }))
    calls.length = 0
    screen.clear()
    screen.clear()
    expect(calls).toEqual(['status undefined', 'redraw'])
    expect(screen.row(elements)).toBeNull()
    expect(textIn(screen.pane(elements))).toContain('not connected')
  })

  test('a client that cannot show something still shows the rest', async () => {
    const { show, calls } = screenOn({
      status: () => {
        throw new Error('no place')
      },
      openTeam: () => Promise.reject(new Error('another plugin has it')),
    })
    show(viewOf({ team: MEMBERS, team_count: 2 }), { count: 1, from: ['bob'] })
    await Promise.resolve()
    expect(calls).toEqual(['redraw', 'toast New signal in your inbox, from bob'])
  })
})
