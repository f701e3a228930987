import { expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { defineAction, defineFacade, type Action } from '../../../src/kernel/define.ts'
import { projectDocs, projectErrors } from '../../../src/kernel/projections/project-docs.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { ERRORS } from '../../../src/contracts/errors/error-catalogue.ts'

const registry = createRegistry(FACADES)
const docs = projectDocs(registry)
const sectionsOf = (text: string) =>
  new Map(text.split('\n### ').map((section): [string, string] => [section.split('\n', 1)[0] ?? '', section]))

/** Returns the reference of a facade whose actions have these outputs. */
function answering(...outputs: z.ZodType[]): string {
  const actions = outputs.map((output, n): [string, Action] => [
    `look_${n}`,
    defineAction({
      summary: 'Looks.',
      mutates: false,
      input: z.strictObject({}),
      output,
      errors: [],
      allow: ['agent'],
      handle: () => ({}),
    }),
  ])
  const facade = { name: 'garden', summary: 'Looks around.', compact: 'Looks.', facet: 'outdoors' }
  return projectDocs(createRegistry([defineFacade({ ...facade, actions: Object.fromEntries(actions) })]))
}

test('the reference names every action, old name and error, and is reproducible', () => {
  for (const { facade, name } of registry.actions) expect(docs).toContain(`### ${facade.name} ${name}\n`)
  for (const old of ['prism_signal', 'prism_signals_pending', 'coord_send', 'coord_inbox', 'coord_ack'])
    expect(docs).toContain(`\`${old}\``)
  for (const code of Object.keys(ERRORS)) expect(projectErrors()).toContain(`| \`${code}\` |`)
  expect(projectDocs(createRegistry(FACADES))).toBe(docs)
})

test('the reference contains the facet and the result of every action', () => {
  const sections = sectionsOf(docs)
  for (const { facade, name, action } of registry.actions) {
    const section = sections.get(`${facade.name} ${name}`)
    expect(section).toContain(`Facet \`${facade.facet}\`.`)
    const { title, properties } = z.toJSONSchema(action.output) as { title?: string; properties?: object }
    if (title !== undefined) expect(section).toContain(`Answers a [${title}]`)
    else for (const field of Object.keys(properties ?? {})) expect(section).toMatch(`| \`${field}`)
  }
  expect(sections.get('Form Receipt')).toContain('| `route` | [Route](#form-route) |')
})

test('the reference has a heading for each of its links', () => {
  const headings = [...docs.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    String(heading).toLowerCase().replaceAll(' ', '-'),
  )
  expect(new Set(headings).size).toBe(headings.length)
  for (const [, anchor] of docs.matchAll(/\]\(#([^)]*)\)/g)) expect(headings).toContain(anchor)
})

test('an object shared by several answers is in the reference once, under its title', () => {
  const place = z.object({ at: z.string() }).meta({ title: 'Place' })
  const text = answering(place, z.object({ places: z.array(place), first: place.nullable() }))
  expect(text.split('### Form Place\n')).toHaveLength(2)
  expect(text).toContain('| `places` | [Place](#form-place)\\[\\] |')
  expect(text).toContain('| `first` | [Place](#form-place)\\|null |')
  expect(text).toContain('Answers a [Place](#form-place).')
})

test('two objects with one title are an error', () => {
  const [first, second] = [z.string(), z.number()].map((at) => z.object({ at }).meta({ title: 'Place' }))
  expect(() => answering(first as z.ZodType, second as z.ZodType)).toThrow('called Place')
})

test.each([
  ['nothing', z.object({}), 'Answers an empty object.'],
  ['anything', z.unknown(), 'Answers any JSON.'],
  ['a dictionary', z.record(z.string(), z.number()), 'Answers any JSON.'],
  ['a field', z.object({ at: z.string() }), '| answer | type |\n| --- | --- |\n| `at` | `string` |'],
  ['an optional field', z.object({ at: z.string().optional() }), '| `at?` | `string` |'],
])('the reference describes an answer that is %s', (_, output, said) =>
  expect(answering(output)).toContain(said),
)

test.each([
  [{}, 'Facet `outdoors`. Not listed unless asked for.'],
  [{ listed: true }, 'Facet `outdoors`. In the list of tools that a client gets unasked.'],
  [{ everywhere: true }, 'Facet `outdoors`, and open in every other.'],
  [{ micro: ['look'] }, 'The smallest list shows `look`.'],
  [{ pro: true }, 'Only where pro features are switched on.'],
] as const)('the reference describes a facade that is %j', (more, said) => {
  const facade = { name: 'garden', summary: 'Looks around.', compact: 'Looks.', facet: 'outdoors' }
  expect(projectDocs(createRegistry([defineFacade({ ...facade, ...more, actions: {} })]))).toContain(said)
})
