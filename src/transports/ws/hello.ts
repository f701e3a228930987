/** Handles a client's hello: authentication, identity and registration. */
import { TurnbellError, toProblem } from '../../contracts/errors/errors.ts'
import { CLOSE, type ClientFrameOf } from '../../contracts/frames.ts'
import { ANONYMOUS_SESSION_PREFIX, RESERVED_IDENTITIES, type SurfaceKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { PersonaRegistry } from '../../modules/registry/personas.ts'
import type { Holder, LossReason } from '../../modules/registry/registration-rows.ts'
import type { Registrations } from '../../modules/registry/registrations.ts'
import type { Ids } from '../../ports/random.ts'
import type { Channels } from './channels.ts'
import type { Link, Member } from './link.ts'
import type { Links } from './links.ts'
import type { HubApi } from '../hub-api.ts'

export interface HelloDeps {
  tokens: Pick<HubApi, 'authenticate'>
  personas: Pick<PersonaRegistry, 'ensure'>
  registrations: Pick<Registrations, 'join'>
  links: Links
  channels: Channels
  ids: Ids
  /** Position in the event stream from which a reconnecting client can continue. */
  lastEventSeq(): number
}

type Hello = ClientFrameOf<'hello'>

/**
 * Joins the link, or rejects. Resolves once the welcome is sent; pushes follow it. The token is checked only here: a link
 * may outlive its token, and ends when its persona is wrapped.
 */
export async function admit(
  needs: HelloDeps,
  link: Link,
  hello: Hello,
  presented_token: string | null,
): Promise<void> {
  const holder = needs.tokens.authenticate(hello.token ?? presented_token)
  const asked = actingAs(holder, hello)
  const client_id = needs.ids.next()
  const session_id = sessionOf(hello, asked, client_id)
  // Drains of an agent are leased to the session that ends with this link.
  const caller = asked.kind === 'agent' ? { ...asked, session_id } : asked
  const surface: SurfaceKind | null =
    hello.kind === 'observer'
      ? null
      : (await needs.personas.ensure(hello.identity, hello.surface ?? 'mcp')).surface
  // The client may have disconnected while its persona was stored.
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
      // The link is joined without this channel.
      link.fail(error, needs.ids.next())
    }
  }
  needs.channels.restore(link)
}

/** Returns the caller of this link: the identity and kind of the token; the operator may act as any. */
function actingAs(holder: Caller, hello: Hello): Caller {
  const reserved = (RESERVED_IDENTITIES as readonly string[]).includes(hello.identity)
  if (reserved && (holder.kind !== 'operator' || hello.kind !== 'observer')) {
    throw new TurnbellError('identity_mismatch', {
      detail: `${hello.identity} is not a persona; only the operator may join under this name, as an observer.`,
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
      detail: `The token is for ${holder.identity}, and the hello names ${hello.identity}.`,
    })
  }
  if (holder.kind !== hello.kind) {
    throw new TurnbellError('kind_forbidden', {
      detail: `The token is for the ${holder.kind} of ${holder.identity}, and the hello names the kind ${hello.kind}.`,
    })
  }
  if (holder.session_id !== undefined && (hello.session_id ?? holder.session_id) !== holder.session_id) {
    throw new TurnbellError('identity_mismatch', {
      detail: 'The hello names another session than the token.',
    })
  }
  const session_id = holder.session_id ?? hello.session_id
  return { ...holder, ...(session_id === undefined ? {} : { session_id }) }
}

function sessionOf(hello: Hello, caller: Caller, client_id: string): string {
  const named = caller.session_id ?? hello.session_id
  return named ?? `${hello.kind === 'agent' ? ANONYMOUS_SESSION_PREFIX : `${hello.kind}:`}${client_id}`
}

/** Closes the link when its registration is lost. */
function holderOf(needs: HelloDeps, link: Link): Holder {
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
          // The session has a new link; the client does not read the old one.
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
