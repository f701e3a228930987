/** Which links are there, and for whom. */
import type { RegistrationKind } from '../contracts/ids.ts'
import { Link, type Member } from './link.ts'

type Proven = Link & { member: Member }

export interface Links {
  /** Every open socket, proven or not. */
  all(): ReadonlySet<Link>
  /** Agents and daemons of one persona. */
  of(identity: string): Iterable<Proven>
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
  /** A hub has thousands of personas with one link, its daemon's: there a set would take more than the link. */
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

  return {
    all: () => all,
    of(identity) {
      const links = personas.get(identity) ?? []
      return links instanceof Link ? [links] : [...links]
    },
    count: () => ({ ...counts }),
    unproven: () => all.size - counts.agent - counts.daemon - counts.observer,
    add: (link) => void all.add(link),
    admit(link, member) {
      const proven = Object.assign(link, { member })
      counts[member.kind] += 1
      // An observer looks; nothing is pushed to it.
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
