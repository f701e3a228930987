/** Posting to a blackboard: new entries, decisions, and entries that were spooled. */
import { REASON_FIELDS, type Posted, type PostInput } from '../../contracts/memory/blackboard.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { DecideInput } from '../../contracts/memory/decision.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { timestamp } from '../../ports/clock.ts'
import { provenIdentity } from '../lib/calling-agent.ts'
import { archivedRows } from '../memory/archived.ts'
import { authorOf } from '../memory/author.ts'
import type { MemoryCall, MemoryLocation } from '../memory/memory-resolver.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'
import type { Blackboard, BlackboardDeps, SpooledEntry, SpoolOrigin } from './types.ts'

export type Posting = Pick<Blackboard, 'post' | 'postSpooled'>

/** Domain of a decision that is posted without one. */
const DOMAIN_DEFAULT = 'implementation'

export function createPosting({
  resolver,
  decisions,
  search,
  publish,
  clock,
  ids,
}: Omit<BlackboardDeps, 'log'>): Posting {
  function announce(call: MemoryCall, location: MemoryLocation, entry: Entry): void {
    const { id, entry_type, scope, summary } = entry
    search.learn(location.memory)
    publish(call, location, 'memory.entry_posted', { id, entry_type, scope, summary })
  }

  return {
    async post(call, input) {
      if (input.entry_type === 'decision') return postDecision(decisions, call, input)
      const [id, at] = [ids.next(), timestamp(clock)]
      const location = await resolver.forWrite(call)
      const entry = entryOf(call, location, input, { id, at })
      await location.memory.entries.put(entry)
      announce(call, location, entry)
      return { id, timestamp: at }
    },

    async postSpooled(call, posts) {
      const location = await resolver.forWriteExactly(call)
      const results = posts.map((post) => spooledEntryOf(call, location, post))
      const entries = results.filter((result): result is Entry => !(result instanceof TurnbellError))
      for (const entry of await putNew(location.memory, entries)) announce(call, location, entry)
      return results.map((result) => (result instanceof TurnbellError ? result : null))
    },
  }
}

async function postDecision(
  decisions: BlackboardDeps['decisions'],
  call: MemoryCall,
  input: PostInput,
): Promise<Posted> {
  const { entry_type: _, detail, tags, relates_to, ...fields } = input
  const context = fields.context ?? detail
  const given = { domain: DOMAIN_DEFAULT, ...fields, ...(context ? { context } : {}) }
  const parsed = DecideInput.safeParse(given)
  if (!parsed.success) {
    throw new TurnbellError('params_invalid', {
      detail: `A decision needs its reasons: ${describeParams(DecideInput, given, parsed.error)}`,
      hint: 'Post it with rationale, and with context or detail (why the decision was needed); list rejected options in alternatives with reason_rejected. `decisions decide` takes the same fields.',
    })
  }
  const decided = await decisions.decide(call, parsed.data, {
    detail,
    ...(tags.length === 0 ? {} : { tags }),
    ...(relates_to === undefined ? {} : { relates_to }),
  })
  const { entry_id, timestamp: at, id, status, conflicts } = decided
  return { id: entry_id, timestamp: at, decision: { id, timestamp: at, status, conflicts } }
}

/** Throws `params_invalid` and `record_too_large`. */
function entryOf(
  call: MemoryCall,
  { toProjectPaths }: MemoryLocation,
  input: PostInput,
  { id, at }: SpoolOrigin,
): Entry {
  const { agent_id, entry_type, summary, detail, tags, scope: _, relates_to, ...reasons } = input
  const [field] = Object.keys(reasons)
  if (field !== undefined) {
    throw new TurnbellError('params_invalid', {
      detail: `${field}: only allowed for entry_type decision, not for ${entry_type}.`,
      hint: `Leave out ${REASON_FIELDS.join(', ')}, or post a decision.`,
    })
  }
  const { scope } = toProjectPaths(input)
  const author = authorOf(call, agent_id)
  const entry = {
    id,
    timestamp: at,
    agent_id: author,
    ...provenIdentity(call.caller, author),
    entry_type,
    tags,
    ...(relates_to === undefined ? {} : { relates_to }),
    scope,
    summary,
    detail,
  }
  assertFits(entry)
  return entry
}

function spooledEntryOf(
  call: MemoryCall,
  location: MemoryLocation,
  post: SpooledEntry,
): Entry | TurnbellError {
  if (post.entry.entry_type === 'decision') {
    return new TurnbellError('params_invalid', {
      detail: 'entry_type: a decision cannot be spooled, because its conflicts are returned to the caller.',
      hint: 'Record it with `decisions decide` while the hub runs.',
    })
  }
  try {
    return entryOf(call, location, post.entry, post)
  } catch (error) {
    if (error instanceof TurnbellError) return error
    throw error
  }
}

/** Stores the entries that are neither posted nor archived yet, and returns them. */
function putNew(memory: ProjectMemory, entries: readonly Entry[]): Promise<Entry[]> {
  return memory.entries.exclusive(async (held) => {
    const known = new Set((await held.list()).map(({ id }) => id))
    const oldest = entries.map(({ timestamp: at }) => at).toSorted()[0]
    const archived = await archivedRows(memory, oldest)
    const fresh = entries.filter(({ id }, nth) => {
      const first = entries.findIndex((other) => other.id === id) === nth
      return first && !known.has(id) && !archived.has(id)
    })
    await Promise.all(fresh.map((entry) => held.put(entry)))
    return fresh
  })
}

/** Throws `record_too_large`. */
function assertFits(entry: Entry): void {
  const bytes = Buffer.byteLength(JSON.stringify(entry))
  if (bytes <= LIMITS.record_bytes_max) return
  throw new TurnbellError('record_too_large', {
    detail: `The entry has ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed.`,
  })
}
