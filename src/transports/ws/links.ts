/** Open links, by persona. */
import type { RegistrationKind } from '../../contracts/ids.ts'
import { Link, type Member } from './link.ts'

type Proven = Link & { member: Member }

export interface Links {
  /** Every open link, with or without a hello. */
  all(): ReadonlySet<Link>
  /** Agents and daemons of one persona. */
  of(identity: string): Iterable<Proven>
  count(): Record<RegistrationKind, number>
  /**
   * Resolves with true once every message that the persona's links sent before this call has been read; with false if one
   * of them ended or there is none. `now` is the monotonic time in milliseconds.
   */
  flushInbound(identity: string, now: number): Promise<boolean>
  add(link: Link): void
  /** Adds the link to its persona after the hello. */
  admit(link: Link, member: Member): void
  /** Removes the link from its persona; the socket may still be closing. */
  dismiss(link: Link): void
  remove(link: Link): void
}

export function createLinks(): Links {
  const all = new Set<Link>()
  /** Most personas have one link, that of their daemon; a set for each would need more memory than the link. */
  const personas = new Map<string, Proven | Set<Proven>>()
  const counts: Record<RegistrationKind, number> = { agent: 0, daemon: 0, observer: 0 }

  const dismiss = (link: Link) => {
    const { member } = link
    if (member === null) return
    link.member = null
    counts[member.kind] -= 1
    const links = personas.get(member.identity)
    if (links instanceof Set) links.delete(link as Proven)
    if (links === link || (links instanceof Set && links.size === 0)) personas.delete(member.identity)
  }

  const of = (identity: string): Proven[] => {
    const links = personas.get(identity) ?? []
    return links instanceof Link ? [links] : [...links]
  }

  return {
    all: () => all,
    of,
    async flushInbound(identity, now) {
      const open = of(identity).filter((link) => link.open)
      const flushed = await Promise.all(open.map((link) => link.flushInbound(now)))
      return open.length > 0 && flushed.every(Boolean)
    },
    count: () => ({ ...counts }),
    add: (link) => void all.add(link),
    admit(link, member) {
      const proven = Object.assign(link, { member })
      counts[member.kind] += 1
      // Nothing is pushed to observers.
      if (member.kind === 'observer') return
      const links = personas.get(member.identity)
      if (links instanceof Set) links.add(proven)
      else personas.set(member.identity, links === undefined ? proven : new Set([links, proven]))
    },
    dismiss,
    remove(link) {
      dismiss(link)
      all.delete(link)
    },
  }
}
