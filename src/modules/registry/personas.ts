/** Personas and projects: what should exist. Durable, and independent of what happens to run. */
import type { Projects } from './projects.ts'
import type { Registrations } from './registrations.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { RESERVED_IDENTITIES, type Identity, type SurfaceKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { Persona, type PersonaOverview, type PersonaState, type Project } from '../../contracts/registry.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { RecordBody, RecordStore } from '../../ports/record-store.ts'
import { Unsure } from '../unsure.ts'

export interface PersonaRegistry {
  /**
   * Makes it, or brings a wrapped or removed one back; repeating it changes nothing. One that works where a home of
   * turnbell is belongs to no project.
   */
  add(input: { identity: Identity; surface: SurfaceKind; project?: string | undefined }): Promise<Persona>
  /** What a joining client may cause: makes an unknown persona, never revives one. Throws `persona_wrapped`. */
  ensure(identity: Identity, surface: SurfaceKind): Promise<Persona>
  get(identity: Identity): Persona | null
  list(): PersonaOverview[]
  /** All that there ever were, the removed ones as well. */
  everybody(): Iterable<Identity>
  /** Takes no more signals; its daemon is told to stop; what waits is kept. */
  wrap(identity: Identity): Promise<Persona>
  /** As wrap, and it disappears from lists. */
  remove(identity: Identity): Promise<Persona>
  projects(): Project[]
  /** Removes every persona that belongs to it. Unknown projects have none. */
  removeProject(project: string): Promise<{ removed: Identity[] }>
}

export interface PersonaNeeds {
  records: RecordStore
  projects: Projects
  registrations: Pick<Registrations, 'rows' | 'end'>
  pendingCount(identity: Identity): number
  /** Signals to the persona that expired and are still kept. */
  expiredCount(identity: Identity): number
  /** Told after the record is durable. */
  changed(persona: Persona): void
  clock: Clock
  log: Log
}

const KIND = 'persona'

/** Reads what is recorded. Records that do not fit are left out and reported, never fatal. */
export async function openPersonaRegistry(needs: PersonaNeeds): Promise<PersonaRegistry> {
  const { records, projects, registrations, clock } = needs
  const personas = new Map<Identity, Persona>()
  /** All but the removed ones. */
  let present = 0
  const put = (persona: Persona) => {
    const before = personas.get(persona.identity)
    if (before !== undefined && before.state !== 'removed') present -= 1
    if (persona.state !== 'removed') present += 1
    personas.set(persona.identity, persona)
  }
  for (const { id, body } of await records.list(KIND)) {
    const parsed = Persona.safeParse(body)
    if (parsed.success) put(parsed.data)
    else needs.log.warn({ kind: KIND, id }, 'a record does not fit its schema and is left out')
  }

  // One change of a persona at a time: what is decided on must still be true when it is recorded.
  const turns = new Map<Identity, Promise<unknown>>()
  const inTurn = <T>(identity: Identity, change: () => Promise<T>): Promise<T> => {
    const before = turns.get(identity) ?? Promise.resolve()
    const mine = before.then(change, change)
    const settled = mine.catch(() => undefined)
    turns.set(identity, settled)
    void settled.then(() => {
      if (turns.get(identity) === settled) turns.delete(identity)
    })
    return mine
  }

  const unsure = new Unsure<Persona>()

  const keep = async (persona: Persona): Promise<Persona> => {
    const { identity } = persona
    await unsure.settle(identity, persona, () => records.put(KIND, identity, persona as RecordBody))
    put(persona)
    needs.changed(persona)
    return persona
  }

  const checkRoom = (identity: Identity) => {
    // One that stands and is unsure counts twice, which is only ever a few.
    const others = unsure.size - Number(unsure.has(identity))
    if (present + others < LIMITS.personas_max) return
    throw new TurnbellError('limit_reached', {
      detail: `This hub has ${LIMITS.personas_max} personas, which is the most it takes.`,
      hint: 'Remove one with `turnbell persona remove NAME`.',
    })
  }

  const make = (
    identity: Identity,
    surface: SurfaceKind,
    project_id: string | undefined,
  ): Promise<Persona> => {
    checkRoom(identity)
    const now = timestamp(clock)
    return keep({
      identity,
      surface,
      state: 'active',
      ...(project_id === undefined ? {} : { project_id }),
      created_at: now,
      updated_at: now,
    })
  }

  const add: PersonaRegistry['add'] = ({ identity, surface, project }) =>
    inTurn(identity, async () => {
      refuseReserved(identity)
      const named = project === undefined || projects.holdsHome(project) ? null : await projects.at(project)
      const known = personas.get(identity)
      if (known === undefined) return make(identity, surface, named?.project_id)
      if (known.state === 'removed') checkRoom(identity)
      const { project_id: before, ...rest } = known
      const project_id = project === undefined ? before : named?.project_id
      const wanted: Persona = { ...rest, surface, state: 'active', ...(project_id ? { project_id } : {}) }
      const same =
        !unsure.has(identity) &&
        known.state === 'active' &&
        known.surface === surface &&
        known.project_id === wanted.project_id
      return same ? known : keep({ ...wanted, updated_at: timestamp(clock) })
    })

  const ensure: PersonaRegistry['ensure'] = (identity, surface) => {
    const known = personas.get(identity)
    // Nothing to wait for, so that what follows keeps its order.
    if (known?.state === 'active') return Promise.resolve(known)
    return inTurn(identity, async () => {
      refuseReserved(identity)
      const persona = personas.get(identity)
      if (persona === undefined) return make(identity, surface, undefined)
      if (persona.state === 'active') return persona
      throw new TurnbellError('persona_wrapped', { detail: `${identity} is ${persona.state}.` })
    })
  }

  const end = (identity: Identity, state: Exclude<PersonaState, 'active'>) =>
    inTurn(identity, async () => {
      const persona = personas.get(identity) ?? unsure.get(identity)
      if (persona === undefined) {
        throw new TurnbellError('target_unknown', { detail: `No persona is called ${identity}.` })
      }
      // A removed persona is wrapped already, and stays out of the lists.
      const wanted = persona.state === 'removed' ? 'removed' : state
      const stands = persona.state === wanted && !unsure.has(identity)
      const ended = stands ? persona : await keep({ ...persona, state: wanted, updated_at: timestamp(clock) })
      registrations.end(identity, state === 'removed' ? 'remove' : 'wrap')
      return ended
    })

  return {
    add,
    ensure,
    get: (identity) => personas.get(identity) ?? null,
    list: () =>
      [...personas.values()]
        .filter((persona) => persona.state !== 'removed')
        .sort((a, b) => (a.identity < b.identity ? -1 : 1))
        .map((persona) => ({
          ...persona,
          pending_count: needs.pendingCount(persona.identity),
          expired_count: needs.expiredCount(persona.identity),
          registrations: registrations.rows(persona.identity),
        })),
    everybody: () => personas.keys(),
    wrap: (identity) => end(identity, 'wrapped'),
    remove: (identity) => end(identity, 'removed'),
    projects: () => projects.list(),
    async removeProject(given) {
      const project = projects.find(given)
      const isMember = ({ project_id, state }: Persona) =>
        project !== null && project_id === project.project_id && state !== 'removed'
      const members = [...personas.values()].filter(isMember)
      const removed = await Promise.all(members.map(({ identity }) => end(identity, 'removed')))
      // Its alias may be another's by now.
      await projects.remove(project?.project_id ?? given)
      return { removed: removed.map((persona) => persona.identity) }
    },
  }
}

function refuseReserved(identity: Identity): void {
  if (!(RESERVED_IDENTITIES as readonly string[]).includes(identity)) return
  throw new TurnbellError('params_invalid', {
    detail: `${identity} is the name of a sender that is no persona.`,
    hint: 'Choose another name.',
  })
}
