/** What all objects share, as it was before the first input. */
const SHARED = Object.entries({ Object, Array, Function }).map(([name, { prototype }]) => ({
  name: `${name}.prototype`,
  prototype: prototype as object,
  before: new Map(Reflect.ownKeys(prototype).map((key) => [key, described(prototype, key)])),
}))

/** Names what was changed for all objects, and puts it back, so that the next input begins with clean ones. */
export function pollution(): string | null {
  const changed = SHARED.filter(putBack).map(({ name }) => name)
  return changed.length === 0 ? null : changed.join(' and ')
}

/** False where nothing was changed. */
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
