/** Properties of the shared prototypes before the first input. */
const SHARED = Object.entries({ Object, Array, Function }).map(([name, { prototype }]) => ({
  name: `${name}.prototype`,
  prototype: prototype as object,
  before: new Map(Reflect.ownKeys(prototype).map((key) => [key, described(prototype, key)])),
}))

/**
 * Returns the name of a change to a shared prototype, and reverts it, so that the next input starts clean; null without
 * one.
 */
export function pollution(): string | null {
  const changed = SHARED.filter(putBack).map(({ name }) => name)
  return changed.length === 0 ? null : changed.join(' and ')
}

/** Returns false if nothing was changed. */
function putBack({ prototype, before }: (typeof SHARED)[number]): boolean {
  const added = Reflect.ownKeys(prototype).filter((key) => !before.has(key))
  for (const key of added) Reflect.deleteProperty(prototype, key)
  const other = [...before].filter(([key, was]) => !isSame(described(prototype, key), was))
  for (const [key, was] of other) Reflect.defineProperty(prototype, key, was)
  return added.length + other.length > 0
}

function described(prototype: object, key: PropertyKey): PropertyDescriptor {
  return Reflect.getOwnPropertyDescriptor(prototype, key) ?? {}
}

function isSame(one: PropertyDescriptor, other: PropertyDescriptor): boolean {
  return one.value === other.value && one.get === other.get && one.set === other.set
}
