import { afterEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { PersonaOverview, Registration } from '../../../../src/contracts/registry.ts'
import { TeamView } from '../../../../src/contracts/team-view.ts'
import { teamViewFor, type TeamViewModules } from '../../../../src/modules/context/team-view.ts'
import { startSmallHub, type SmallHub } from '../../../support/worlds/small-hub.ts'

const AT = '2026-01-31T12:00:00.000Z'

describe('GET /team', () => {
  let hub: SmallHub
  afterEach(() => hub.close())

  const open = async () => {
    hub = await startSmallHub()
    for (const identity of ['ada', 'bob', 'cyd']) await hub.personas.add({ identity, surface: 'mcp' })
  }
  const send = async (from: string, to: string, priority = 5) => {
    const body = { to, intent: 'note', payload: 'a secret', priority }
    const { status } = await hub.request('POST', '/api/signals/send', { body, token: hub.token(from) })
    expect(status).toBe(200)
  }
  const view = async () => {
    const { body, text } = await hub.request('GET', '/team', { token: hub.token('ada') })
    expect(text).not.toContain('secret')
    return TeamView.parse(body)
  }

  test('an agent reads its queue, its blockings, the team and the inbox of the person as names and counts', async () => {
    await open()
    for (const from of ['bob', 'cyd', 'bob']) await send(from, 'ada')
    await send('bob', 'operator')
    await send('cyd', 'operator')
    const block = (by: string, identity: string) =>
      hub.request('POST', '/api/coordinator/block', {
        body: { identity, reason: 'a secret' },
        token: hub.token(by),
      })
    await block('ada', 'cyd')
    await block('bob', 'ada')
    const found = await view()
    expect(found).toMatchObject({
      identity: 'ada',
      waiting: { count: 3, from: ['bob', 'cyd'] },
      in_progress: { count: 0, from: [] },
      blocks: ['cyd'],
      blocked_by: ['bob'],
      team: [
        { identity: 'ada', turn: 'offline', pending_count: 3 },
        { identity: 'bob', turn: 'offline', pending_count: 0 },
        { identity: 'cyd', turn: 'offline', pending_count: 0 },
      ],
      team_count: 3,
      person: { pending_count: 2 },
    })
    expect(found.person.newest.map(({ from }) => from)).toEqual(['cyd', 'bob'])
  })

  test('the newest signals of a long inbox are listed, whatever their priority', async () => {
    await open()
    for (let nth = 0; nth < LIMITS.team_signals_read_max; nth++) await send('bob', 'operator', 9)
    await send('cyd', 'operator', 0)
    const { person } = await view()
    expect(person.pending_count).toBe(LIMITS.team_signals_read_max + 1)
    expect(person.newest.map(({ from }) => from).slice(0, 2)).toEqual(['cyd', 'bob'])
    expect(person.newest).toHaveLength(LIMITS.team_names_max)
  })

  test('a read of the team view is neither an event nor a line of the dispatch log', async () => {
    await open()
    const lines = hub.lines.length
    const { next } = hub.events.read({ since: 0, limit: LIMITS.events_page_max })
    await view()
    expect(hub.lines).toHaveLength(lines)
    expect(hub.events.read({ since: 0, limit: LIMITS.events_page_max }).next).toBe(next)
  })

  test('the team view is refused to other callers, and where the call may not list personas', async () => {
    await open()
    const read = async (token: string, headers: Record<string, string> = {}) =>
      (await hub.request('GET', '/team', { token, headers })).body['code']
    expect(await read(hub.operator)).toBe('kind_forbidden')
    expect(await read(hub.token('ada', 'observer'))).toBe('kind_forbidden')
    expect(await read(hub.token('ada'), { 'x-facades': 'signals' })).toBe('facade_forbidden')
  })
})

describe('a team view', () => {
  const row = (fields: Partial<Registration>): Registration => ({
    identity: 'ada',
    surface: 'claude-code',
    kind: 'agent',
    session_id: 's-1',
    epoch: 1,
    connected: true,
    joined_at: AT,
    last_heartbeat_at: AT,
    ...fields,
  })
  const facts = (turn: 'idle' | 'busy' | 'unknown') => ({
    facts: { attached: true, session_id: 's-1', turn, turn_seq: 1 },
  })
  const persona = (identity: string, fields: Partial<PersonaOverview> = {}): PersonaOverview => ({
    ...{ identity, surface: 'claude-code', state: 'active', created_at: AT, updated_at: AT },
    ...{ pending_count: 0, expired_count: 0, registrations: [], ...fields },
  })
  const viewOf = (list: PersonaOverview[]) => {
    const modules: TeamViewModules = {
      personas: { list: () => list },
      signals: {
        peek: () => ({ signals: [], total: 0, as_of_seq: 0, in_progress_count: 0 }),
        newestPending: () => [],
        pendingCount: () => 0,
        inProgress: () => Promise.resolve({ count: 0, signals: [] }),
      },
      coordinator: {
        blocked: (_, identity) => ({ identity, blocked: false, blocked_by: [], blocks: [] }),
      },
    }
    return teamViewFor(modules, { tenant_id: 'local', kind: 'agent', identity: 'ada' })
  }

  test.each([
    ['offline', []],
    ['offline', [row({ connected: false, ...facts('idle') })]],
    ['offline', [row({ kind: 'daemon', ...facts('idle') })]],
    ['unknown', [row({})]],
    ['idle', [row({}), row(facts('idle'))]],
    ['busy', [row(facts('idle')), row(facts('busy'))]],
  ])('reports the turn %s of an agent', async (turn, registrations) => {
    expect((await viewOf([persona('ada', { registrations })])).team).toMatchObject([{ turn }])
  })

  test('lists the own persona and its project first, and omits suspended personas', async () => {
    const { team } = await viewOf([
      persona('abe'),
      persona('ada', { project_id: 'p-1' }),
      persona('cyd', { project_id: 'p-1' }),
      persona('eve', { state: 'wrapped' }),
    ])
    expect(team.map(({ identity }) => identity)).toEqual(['ada', 'cyd', 'abe'])
  })

  test('lists the personas with a connected agent first, and orders names by their numbers', async () => {
    const registrations = [row({})]
    const names = ['p-10', 'p-2', 'p-1'].map((name) => persona(name))
    const { team } = await viewOf([...names, persona('zoe', { registrations }), persona('ada')])
    expect(team.map(({ identity }) => identity)).toEqual(['ada', 'zoe', 'p-1', 'p-2', 'p-10'])
  })

  test('is truncated, and contains the number of all personas', async () => {
    const many = Array.from({ length: LIMITS.team_shown_max + 3 }, (_, nth) => persona(`p-${nth}`))
    const { team, team_count } = await viewOf(many)
    expect([team.length, team_count]).toEqual([LIMITS.team_shown_max, many.length])
  })
})
