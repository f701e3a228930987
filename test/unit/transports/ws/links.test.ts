import { expect, test } from 'vitest'
import { Link, type Member } from '../../../../src/transports/ws/link.ts'
import { createLinks } from '../../../../src/transports/ws/links.ts'
import type { FrameSocket } from '../../../../src/ports/frame-socket.ts'

const member = (identity: string, kind: Member['kind']): Member => ({
  ...{ client_id: `client of ${identity}`, kind, identity, session_id: 's' },
  caller: { tenant_id: 'local', kind, identity },
  ticket: null,
})
const link = () => new Link({} as FrameSocket, 0)

test('a persona has as many links as were admitted for it, in that order, and none once they are gone', () => {
  const links = createLinks()
  const [daemon, agent, other, observer] = [link(), link(), link(), link()]
  const of = () => [...links.of('ada')]
  expect(of()).toEqual([])
  for (const one of [daemon, agent, other, observer]) links.add(one)
  links.admit(observer, member('ada', 'observer'))
  links.admit(daemon, member('ada', 'daemon'))
  expect(of()).toEqual([daemon])
  links.admit(agent, member('ada', 'agent'))
  links.admit(other, member('ada', 'agent'))
  expect(of()).toEqual([daemon, agent, other])
  expect(links.count()).toEqual({ agent: 2, daemon: 1, observer: 1 })
  links.remove(daemon)
  links.dismiss(other)
  expect(of()).toEqual([agent])
  links.admit(other, member('ada', 'agent'))
  expect(of()).toEqual([agent, other])
  for (const one of [agent, other, observer]) links.remove(one)
  expect(of()).toEqual([])
  expect(links.count()).toEqual({ agent: 0, daemon: 0, observer: 0 })
})

test('the only link of a persona is gone once it is closed, without an effect on others', () => {
  const links = createLinks()
  const [ada, bob] = [link(), link()]
  links.admit(ada, member('ada', 'daemon'))
  links.admit(bob, member('bob', 'daemon'))
  links.dismiss(ada)
  links.dismiss(ada)
  expect([[...links.of('ada')], [...links.of('bob')]]).toEqual([[], [bob]])
})
