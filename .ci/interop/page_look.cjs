// Look at pages in a real browser: node page_look.cjs NODE_MODULES CHROMIUM PICTURES PAGE.html
// stdout: for each colour scheme and width {"scheme", "width", "overflow" (pixels), "contrast" (the least of any text)}.
const fs = require("fs"), os = require("os"), path = require("path");
const [modules, executablePath, pictures, file] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));

const look = () => {        // runs in the page
  const numbers = (colour) => { const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (below, [r, g, b, a]) => [r, g, b].map((value, i) => value * a + below[i] * (1 - a));
  const light = (colour) => colour.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  document.documentElement.style.background = "Canvas";         // what a browser paints below all
  const contrasts = [...document.querySelectorAll("h1, pre, summary")].map((element) => {
    const grounds = [];
    for (let each = element; each; each = each.parentElement) grounds.unshift(getComputedStyle(each).backgroundColor);
    const ground = grounds.map(numbers).reduce(over, [0, 0, 0]), style = getComputedStyle(element);
    const [r, g, b, a] = numbers(style.color), text = over(ground, [r, g, b, a * Number(style.opacity)]);
    return (Math.max(light(ground), light(text)) + 0.05) / (Math.min(light(ground), light(text)) + 0.05);
  });
  return { overflow: document.documentElement.scrollWidth - innerWidth, contrast: Math.min(...contrasts) };
};

(async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "page-"));
  const context = await chromium.launchPersistentContext(folder, { executablePath, headless: true, bypassCSP: true, args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"] });
  try {
    const answers = [];
    const page = await context.newPage();
    for (const scheme of ["light", "dark"])
      for (const width of [320, 1400]) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 900 });
        await page.goto("file://" + path.resolve(file));
        answers.push({ scheme, width, ...(await page.evaluate(look)) });
        await page.screenshot({ path: path.join(pictures, `${scheme}-${width}.png`) });
      }
    process.stdout.write(JSON.stringify(answers));
  } finally {
    await context.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
})().catch((error) => { console.error(error); process.exit(1); });
