/** Resources with fixed content, and one whose content is encoded in its URI. */
import { PNG } from './media.ts'

const WORDS = 'Words that never change.'
const FIXED = [
  { uri: 'test://static-text', name: 'text', mimeType: 'text/plain', text: WORDS },
  { uri: 'test://static-binary', name: 'picture', mimeType: 'image/png', blob: PNG },
  { uri: 'test://watched-resource', name: 'watched', mimeType: 'text/plain', text: WORDS },
]

export const RESOURCES = FIXED.map(({ uri, name, mimeType }) => ({
  uri,
  name,
  mimeType,
  description: `The ${name} of the conformance suite.`,
}))

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'by id',
    description: 'Says the id that its uri names.',
    mimeType: 'application/json',
  },
]

export function readFixture(uri: string) {
  const fixed = FIXED.find((resource) => resource.uri === uri)
  if (fixed !== undefined) {
    const { mimeType, text, blob } = fixed
    return [blob === undefined ? { uri, mimeType, text } : { uri, mimeType, blob }]
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id === undefined) return null
  return [{ uri, mimeType: 'application/json', text: JSON.stringify({ id }) }]
}
