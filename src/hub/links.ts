/** Which links are there, and for whom. */
import type { RegistrationKind } from '../contracts/ids.ts'
import type { Link, Member } from './link.ts'

export interface Links {
  /** Every open socket, proven or not. */
  all(): ReadonlySet<Link>
  /** Agents and daemons of one persona. */
  of(identity: string): Iterable<Link & { member: Member }>
  count(): Record<RegistrationKind, number>
  /** Links that have not said who they are. */
  unproven(): number
  add(link: Link): void
  /** Its hello was accepted. */
  admit(link: Link, member: Member): void
  /** It speaks for nobody any more; the socket may still be closing. */
  dismiss(link: Link): void
  remove(link: Link): void
}

export function createLinks(): Links {
  const all = new Set<Link>()
  const personas = new Map<string, Set<Link & { member: Member }>>()
  const counts: Record<RegistrationKind, number> = { agent: 0, daemon: 0, observer: 0 }

  const dismiss = (link: Link) => {
    const { member } = link
    if (member === null) return
    link.member = null
    counts[member.kind] -= 1
    const links = personas.get(member.identity)
    links?.delete(link as Link & { member: Member })
    if (links?.size === 0) personas.delete(member.identity)
  }

  return {
    all: () => all,
    of: (identity) => [...(personas.get(identity) ?? [])],
    count: () => ({ ...counts }),
    unproven: () => all.size - counts.agent - counts.daemon - counts.observer,
    add: (link) => void all.add(link),
    admit(link, member) {
      const proven = Object.assign(link, { member })
      counts[member.kind] += 1
      // An observer looks; nothing is pushed to it.
      if (member.kind === 'observer') return
      let links = personas.get(member.identity)
      if (!links) personas.set(member.identity, (links = new Set()))
      links.add(proven)
    },
    dismiss,
    remove(link) {
      dismiss(link)
      all.delete(link)
    },
  }
}
