/**
 * JSON as a tree that can represent more than values: duplicate names in one object, numbers that cannot be parsed to a
 * number, and half of a surrogate pair.
 */
export type Tree =
  | { kind: 'object'; members: [name: string, value: Tree][] }
  | { kind: 'list'; items: Tree[] }
  | { kind: 'text'; text: string }

const DEPTH_MAX = 60

/** Returns null for invalid JSON and for JSON that is nested too deeply. */
export function treeOf(text: string): Tree | null {
  try {
    return planted(JSON.parse(text), 0)
  } catch {
    return null
  }
}

function planted(value: unknown, depth: number): Tree {
  if (depth > DEPTH_MAX) throw new RangeError('too deep')
  if (Array.isArray(value)) return { kind: 'list', items: value.map((item) => planted(item, depth + 1)) }
  if (typeof value !== 'object' || value === null) return { kind: 'text', text: JSON.stringify(value) }
  const members = Object.entries(value).map(([name, inner]): [string, Tree] => [
    JSON.stringify(name),
    planted(inner, depth + 1),
  ])
  return { kind: 'object', members }
}

export function written(tree: Tree): string {
  switch (tree.kind) {
    case 'text':
      return tree.text
    case 'list':
      return `[${tree.items.map(written).join(',')}]`
    case 'object':
      return `{${tree.members.map(([name, value]) => `${name}:${written(value)}`).join(',')}}`
  }
}

/** Returns the tree itself and all its descendants. */
export function branches(tree: Tree): Tree[] {
  const all: Tree[] = []
  const walk = (one: Tree) => {
    all.push(one)
    if (one.kind === 'list') for (const item of one.items) walk(item)
    if (one.kind === 'object') for (const [, value] of one.members) walk(value)
  }
  walk(tree)
  return all
}

/** Replaces this tree with another in place. */
export function become(tree: Tree, other: Tree): void {
  for (const key of Object.keys(tree)) Reflect.deleteProperty(tree, key)
  Object.assign(tree, other)
}
