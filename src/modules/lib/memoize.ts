/** Memoizes a function by the identity of its argument, which must not change afterwards. */
export function memoizeByRef<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const values = new WeakMap<K, V>()
  return (key) => {
    if (values.has(key)) return values.get(key) as V
    const value = compute(key)
    values.set(key, value)
    return value
  }
}
