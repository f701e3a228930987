/** Registered personas. Durable, and independent of running agents and daemons. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { RESERVED_IDENTITIES, type Identity, type SurfaceKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { Persona, type PersonaOverview, type PersonaState, type Project } from '../../contracts/registry.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import { createKeyedQueue } from '../../ports/serial-queue.ts'
import { createTypedRecords, schemaCodec, type TypedRecords } from '../lib/typed-records.ts'
import { UncertainWrites } from '../lib/uncertain-writes.ts'
import type { Projects } from './projects.ts'
import type { Registrations } from './registrations.ts'

export interface PersonaRegistry {
  /**
   * Creates a persona, or reactivates a wrapped or removed one; idempotent. A persona that works in a directory with a
   * turnbell home belongs to no project.
   */
  add(input: { identity: Identity; surface: SurfaceKind; project?: string | undefined }): Promise<Persona>
  /** Creates an unknown persona when a client joins, but reactivates none. Throws `persona_wrapped`. */
  ensure(identity: Identity, surface: SurfaceKind): Promise<Persona>
  get(identity: Identity): Persona | null
  list(): PersonaOverview[]
  /** All personas that ever existed, including removed ones. */
  identities(): Iterable<Identity>
  /** Stops new signals and the persona's daemon; pending signals stay. */
  wrap(identity: Identity): Promise<Persona>
  /** As `wrap`, and hides the persona from lists. */
  remove(identity: Identity): Promise<Persona>
  projects(): Project[]
  /** Removes a project and every persona that belongs to it. */
  removeProject(project: string): Promise<{ removed: Identity[] }>
}

export interface PersonaDeps {
  records: RecordStore
  projects: Projects
  registrations: Pick<Registrations, 'rows' | 'end'>
  pendingCount(identity: Identity): number
  /** Expired signals to the persona that are still stored. */
  expiredCount(identity: Identity): number
  /** Called after the record is durable. */
  changed(persona: Persona): void
  clock: Clock
  log: Log
}

/** Reads the stored personas. Invalid records are quarantined and logged. */
export async function openPersonaRegistry(deps: PersonaDeps): Promise<PersonaRegistry> {
  const { projects, registrations } = deps
  const stored = createTypedRecords(
    deps.records,
    schemaCodec('persona', Persona, (persona) => persona.identity),
    deps.log,
  )
  const personas = new Map((await stored.list()).map((persona) => [persona.identity, persona]))
  const { add, ensure, end } = createLifecycle(personas, createPersonaWrites(personas, stored, deps), deps)
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
          pending_count: deps.pendingCount(persona.identity),
          expired_count: deps.expiredCount(persona.identity),
          registrations: registrations.rows(persona.identity),
        })),
    identities: () => personas.keys(),
    wrap: (identity) => end(identity, 'wrapped'),
    remove: (identity) => end(identity, 'removed'),
    projects: () => projects.list(),
    async removeProject(given) {
      const project = projects.find(given)
      const isMember = ({ project_id, state }: Persona) =>
        project !== null && project_id === project.project_id && state !== 'removed'
      const members = [...personas.values()].filter(isMember)
      const removed = await Promise.all(members.map(({ identity }) => end(identity, 'removed')))
      // By id, because its alias may belong to another project since.
      await projects.remove(project?.project_id ?? given)
      return { removed: removed.map((persona) => persona.identity) }
    },
  }
}

type PersonaMap = Map<Identity, Persona>

interface PersonaWrites {
  uncertain: UncertainWrites<Persona>
  store: (persona: Persona) => Promise<Persona>
  /** Throws `limit_reached`. */
  create: (identity: Identity, surface: SurfaceKind, project_id: string | undefined) => Promise<Persona>
  /** Throws `limit_reached`. */
  assertRoom: (identity: Identity) => void
}

function createPersonaWrites(
  personas: PersonaMap,
  stored: TypedRecords<Persona>,
  { changed, clock }: Pick<PersonaDeps, 'changed' | 'clock'>,
): PersonaWrites {
  const uncertain = new UncertainWrites<Persona>()
  /** Number of personas that are not removed. */
  let present = [...personas.values()].filter(isPresent).length

  async function store(persona: Persona): Promise<Persona> {
    const { identity } = persona
    await uncertain.settle(identity, persona, () => stored.put(persona))
    const before = personas.get(identity)
    present += Number(isPresent(persona)) - Number(before !== undefined && isPresent(before))
    personas.set(identity, persona)
    changed(persona)
    return persona
  }

  function assertRoom(identity: Identity): void {
    // A present persona with an uncertain write counts twice; there are only a few.
    const others = uncertain.size - Number(uncertain.has(identity))
    if (present + others < LIMITS.personas_max) return
    throw new TurnbellError('limit_reached', {
      detail: `This hub has ${LIMITS.personas_max} personas, the maximum.`,
      hint: 'Remove one with `turnbell persona remove NAME`.',
    })
  }

  return {
    uncertain,
    store,
    assertRoom,
    async create(identity, surface, project_id) {
      assertRoom(identity)
      const now = timestamp(clock)
      return store({
        identity,
        surface,
        state: 'active',
        ...(project_id === undefined ? {} : { project_id }),
        created_at: now,
        updated_at: now,
      })
    },
  }
}

const isPresent = ({ state }: Persona) => state !== 'removed'

interface Lifecycle extends Pick<PersonaRegistry, 'add' | 'ensure'> {
  end: (identity: Identity, state: Exclude<PersonaState, 'active'>) => Promise<Persona>
}

function createLifecycle(
  personas: PersonaMap,
  { uncertain, store, create, assertRoom }: PersonaWrites,
  { projects, registrations, clock }: Pick<PersonaDeps, 'projects' | 'registrations' | 'clock'>,
): Lifecycle {
  const enqueue = createKeyedQueue()
  return {
    add: ({ identity, surface, project }) =>
      enqueue(identity, async () => {
        refuseReserved(identity)
        const home = project !== undefined && projects.holdsHome(project)
        const found = project === undefined || home ? null : await projects.at(project)
        const known = personas.get(identity)
        if (known === undefined) return create(identity, surface, found?.project_id)
        if (known.state === 'removed') assertRoom(identity)
        const { project_id: before, ...rest } = known
        const project_id = project === undefined ? before : found?.project_id
        const wanted: Persona = { ...rest, surface, state: 'active', ...(project_id ? { project_id } : {}) }
        const same =
          !uncertain.has(identity) &&
          known.state === 'active' &&
          known.surface === surface &&
          known.project_id === wanted.project_id
        return same ? known : store({ ...wanted, updated_at: timestamp(clock) })
      }),

    ensure(identity, surface) {
      const known = personas.get(identity)
      // Not queued, so that calls for an active persona stay in order.
      if (known?.state === 'active') return Promise.resolve(known)
      return enqueue(identity, async () => {
        refuseReserved(identity)
        const persona = personas.get(identity)
        if (persona === undefined) return create(identity, surface, undefined)
        if (persona.state === 'active') return persona
        throw new TurnbellError('persona_wrapped', { detail: `${identity} is ${persona.state}.` })
      })
    },

    end: (identity, state) =>
      enqueue(identity, async () => {
        const persona = personas.get(identity) ?? uncertain.get(identity)
        if (persona === undefined) {
          throw new TurnbellError('target_unknown', { detail: `There is no persona ${identity}.` })
        }
        // A removed persona is wrapped already, and stays hidden.
        const wanted = persona.state === 'removed' ? 'removed' : state
        const unchanged = persona.state === wanted && !uncertain.has(identity)
        const ended = unchanged
          ? persona
          : await store({ ...persona, state: wanted, updated_at: timestamp(clock) })
        registrations.end(identity, state === 'removed' ? 'remove' : 'wrap')
        return ended
      }),
  }
}

function refuseReserved(identity: Identity): void {
  if (!(RESERVED_IDENTITIES as readonly string[]).includes(identity)) return
  throw new TurnbellError('params_invalid', {
    detail: `${identity} is a reserved name.`,
    hint: 'Choose another name.',
  })
}
