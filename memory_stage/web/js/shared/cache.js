/**
 * Return the value of a key in a map. If the map has no value for the key, make it and store it.
 * @template K, V
 * @param {{get(key: K): V | undefined, set(key: K, value: V): unknown}} map
 * @param {K} key
 * @param {() => V} make
 * @returns {V}
 */
export function getOrMake(map, key, make) {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
