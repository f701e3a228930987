/** A client's hello: who it is, whether it may be that, and its row in the registry. */
import { TurnbellError, toProblem } from '../contracts/errors.ts'
import { CLOSE, type ClientFrameOf } from '../contracts/frames.ts'
import { ANONYMOUS_SESSION_PREFIX, RESERVED_IDENTITIES, type SurfaceKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Caller } from '../contracts/token.ts'
import type { PersonaRegistry } from '../modules/registry/personas.ts'
import type { Holder, LossReason, Registrations } from '../modules/registry/registrations.ts'
import type { Ids } from '../ports/random.ts'
import type { Channels } from './channels.ts'
import type { Link, Member } from './link.ts'
import type { Links } from './links.ts'
import type { Tokens } from './tokens.ts'

export interface AdmissionNeeds {
  tokens: Pick<Tokens, 'authenticate'>
  personas: Pick<PersonaRegistry, 'ensure'>
  registrations: Pick<Registrations, 'join'>
  links: Links
  channels: Channels
  ids: Ids
  /** The position in the event stream from which a client that comes back may read on. */
  lastEventSeq(): number
}

type Hello = ClientFrameOf<'hello'>

/**
 * Joins the link, or throws what refuses it. Resolves once the welcome has left; whatever is pushed to
 * the link comes after it. The token is looked at once: a link may live longer than the token that
 * opened it, and ends when its persona is wrapped.
 */
export async function admit(
  needs: AdmissionNeeds,
  link: Link,
  hello: Hello,
  presented_token: string | null,
): Promise<void> {
  const holder = needs.tokens.authenticate(hello.token ?? presented_token)
  const asked = actingAs(holder, hello)
  const client_id = needs.ids.next()
  const session_id = sessionOf(hello, asked, client_id)
  // What an agent drains is leased to the session that ends with this link.
  const caller = asked.kind === 'agent' ? { ...asked, session_id } : asked
  const surface: SurfaceKind | null =
    hello.kind === 'observer'
      ? null
      : (await needs.personas.ensure(hello.identity, hello.surface ?? 'mcp')).surface
  // The client may have gone while its persona was written down.
  if (!link.open) return

  const member: Member = {
    client_id,
    kind: hello.kind,
    identity: hello.identity,
    session_id,
    caller,
    ticket: null,
  }
  needs.links.admit(link, member)
  const welcome = () =>
    link.send({
      type: 'welcome',
      client_id,
      heartbeat_interval_ms: LIMITS.heartbeat_interval_ms,
      resume_seq: needs.lastEventSeq(),
    })
  if (hello.kind !== 'observer' && surface !== null) {
    welcome()
    member.ticket = needs.registrations.join({
      identity: hello.identity,
      surface: hello.surface ?? surface,
      kind: hello.kind,
      session_id,
      holder: holderOf(needs, link),
    })
  } else welcome()
  for (const channel of hello.channels ?? []) {
    try {
      needs.channels.subscribe(link, channel)
    } catch (error) {
      // It has joined all the same; it is only not told what it may not hear.
      link.fail(error, needs.ids.next())
    }
  }
  needs.channels.restore(link)
}

/** As whom this link acts. A token speaks for its own identity and kind; the operator's may act as any. */
function actingAs(holder: Caller, hello: Hello): Caller {
  const reserved = (RESERVED_IDENTITIES as readonly string[]).includes(hello.identity)
  if (reserved && (holder.kind !== 'operator' || hello.kind !== 'observer')) {
    throw new TurnbellError('identity_mismatch', {
      detail: `${hello.identity} is no persona; only the operator joins under it, as an observer.`,
    })
  }
  if (holder.kind === 'operator') {
    return reserved
      ? holder
      : {
          tenant_id: holder.tenant_id,
          kind: hello.kind,
          identity: hello.identity,
          ...(hello.session_id === undefined ? {} : { session_id: hello.session_id }),
        }
  }
  if (holder.identity !== hello.identity) {
    throw new TurnbellError('identity_mismatch', {
      detail: `The token is ${holder.identity}'s and the hello says ${hello.identity}.`,
    })
  }
  if (holder.kind !== hello.kind) {
    throw new TurnbellError('kind_forbidden', {
      detail: `The token is for the ${holder.kind} of ${holder.identity} and the hello says ${hello.kind}.`,
    })
  }
  if (holder.session_id !== undefined && (hello.session_id ?? holder.session_id) !== holder.session_id) {
    throw new TurnbellError('identity_mismatch', {
      detail: 'The token names another session than the hello.',
    })
  }
  const session_id = holder.session_id ?? hello.session_id
  return { ...holder, ...(session_id === undefined ? {} : { session_id }) }
}

function sessionOf(hello: Hello, caller: Caller, client_id: string): string {
  const named = caller.session_id ?? hello.session_id
  return named ?? `${hello.kind === 'agent' ? ANONYMOUS_SESSION_PREFIX : `${hello.kind}:`}${client_id}`
}

/** What becomes of the link when its row is lost. */
function holderOf(needs: AdmissionNeeds, link: Link): Holder {
  return {
    lose(why: LossReason) {
      needs.channels.forget(link)
      needs.links.dismiss(link)
      switch (why) {
        case 'preempt': {
          const error = new TurnbellError('binding_stale', {
            detail: 'Another holder joined for the same persona, surface and kind.',
          })
          link.send({ ...toProblem(error, needs.ids.next()), type: 'error' })
          link.end(CLOSE.stale, 'binding_stale')
          break
        }
        case 'refresh':
          // The same session on a new link: the old one is a leftover that nobody reads.
          link.socket.terminate()
          break
        case 'expire':
          link.end(CLOSE.going_away, 'no heartbeat')
          break
        case 'wrap':
        case 'remove':
          link.send({ type: 'lifecycle.shutdown', reason: why })
          link.end(CLOSE.going_away, why)
          break
      }
    },
  }
}
