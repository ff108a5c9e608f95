// The way in, until there is more of a page.
const code = new URLSearchParams(location.hash.slice(1)).get('login');
history.replaceState(null, '', location.pathname);

const ask = async (path, body) => {
  const post = {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)};
  const response = await fetch(path, body ? post : {});
  return response.json();
};

const me = code ? await ask('/api/login', {code}) : await ask('/api/me');
document.getElementById('page').textContent = me.error ?? `${me.name}: ${me.scope}`;
